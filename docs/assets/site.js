// The theme gives its search dialog a role and no name, which readers of the screen need.
document.querySelectorAll('.md-search[role="dialog"]').forEach((dialog) => dialog.setAttribute("aria-label", "Search"));
