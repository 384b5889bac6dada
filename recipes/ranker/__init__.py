"""The ranker behind `usl_h_dialens` and `dialog_rpt_dialens_…`: which reply drew more."""
