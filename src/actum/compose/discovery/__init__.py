"""What could be tools: in folders, modules and installed packages (`places`), and at addresses (`addresses`)."""
