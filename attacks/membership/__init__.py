"""Was this node trained on?"""
