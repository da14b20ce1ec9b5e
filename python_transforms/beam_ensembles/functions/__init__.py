"""The kinds of node that compute columns from columns: one file a family, and their table in ``registry``."""
