"""Commands about texts that people write, check, publish and roll back: workflows, agents."""
