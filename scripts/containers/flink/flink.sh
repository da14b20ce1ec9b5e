#!/usr/bin/env bash
# Stands in for the entrypoint of Flink's image: `jobmanager` or `taskmanager`, with FLINK_PROPERTIES put into the
# configuration and the sizes of memory computed by Flink's own BashJavaUtils.
set -euo pipefail
jars=$FLINK_HOME/bin/bash-java-utils.jar:$FLINK_HOME/lib/*
conf=$FLINK_HOME/conf

flink_says() {
    java -cp "$jars" org.apache.flink.runtime.util.bash.BashJavaUtils "$1" --configDir "$conf" "${@:2}" |
        sed -n 's/^BASH_JAVA_UTILS_EXEC_RESULT://p'
}

properties=()
while IFS=: read -r name value; do
    [ -z "$name" ] || properties+=("-D$name=$value")
done < <(tr -d ' \t' <<<"${FLINK_PROPERTIES-}")
configuration=$(flink_says UPDATE_AND_GET_FLINK_CONFIGURATION "${properties[@]}")
echo "$configuration" >"$conf/config.yaml"

case $1 in
jobmanager)
    main=org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint
    sizes=$(flink_says GET_JM_RESOURCE_PARAMS)
    ;;
taskmanager)
    main=org.apache.flink.runtime.taskexecutor.TaskManagerRunner
    sizes=$(flink_says GET_TM_RESOURCE_PARAMS)
    ;;
*)
    echo "neither 'jobmanager' nor 'taskmanager': '$1'" >&2
    exit 2
    ;;
esac
# Options of the JVM on the first line, of Flink on the second.
readarray -t lines <<<"$sizes"
read -ra of_java <<<"${lines[0]}"
read -ra of_flink <<<"${lines[1]}"
exec setpriv --reuid=flink --regid=flink --clear-groups java "${of_java[@]}" "-Dlog4j.configurationFile=file:$conf/log4j-console.properties" \
    -cp "$jars" "$main" --configDir "$conf" "${of_flink[@]}"
