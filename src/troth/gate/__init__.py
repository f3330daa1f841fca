"""The gate: what goes into troth is checked and cleaned here, once; everything past it trusts the arrays."""
