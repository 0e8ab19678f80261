"""What tenants publish while a server runs, made of what the settings of the operator allow."""
