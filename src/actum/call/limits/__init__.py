"""What holds a call back: limits of a run, rates and places, the circuit breaker, retries."""
