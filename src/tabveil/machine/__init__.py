"""What the machine offers: files that appear whole, processors, and packages of extras."""
