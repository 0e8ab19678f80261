"""`/v1/tasks`: calls and runs that outlive the request that asked for them."""
