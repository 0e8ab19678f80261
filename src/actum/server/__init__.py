"""What actum serves to others."""
