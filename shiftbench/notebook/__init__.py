"""What ``import shiftbench as sb`` offers a notebook: functions (``api``) and the results they return."""
