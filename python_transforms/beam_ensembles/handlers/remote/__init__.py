"""What the kinds of models on servers share: when calls are made, made again, held back or given up."""
