#!/bin/sh
# Installs the packages of a worker image into its environment: those of the extras of pyproject.toml, in the versions
# and with the hashes of a lock, and compiled, since whoever runs the worker may not write there.
#
#   install_extras.sh LOCK EXTRAS [--torch-index URL] [ARGUMENT OF uv pip install]...
#
# PyTorch's own index has other wheels of the same versions, whose hashes no lock has: its wheels go in first.
set -eu
lock=$1 extras=$2
shift 2

install() {
    uv pip install --no-cache --compile-bytecode "$@"
}

if [ "${1-}" = --torch-index ]; then
    case " $extras " in
    *" all "* | *" pytorch "* | *" huggingface "*) [ -z "$2" ] || torch_index=$2 ;;
    esac
    shift 2
fi
if [ -n "${torch_index-}" ]; then
    # shellcheck disable=SC2046  # two words
    install --no-deps --index-url "$torch_index" $(grep -oE '^(torch|torchvision)==[^ ]+' "$lock")
fi
# shellcheck disable=SC2046  # words
install --constraint "$lock" -r pyproject.toml $(for extra in $extras; do echo "--extra $extra"; done) "$@"
