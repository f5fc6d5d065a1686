"""A search engine for a corpus of passages, with Search-R1's HTTP protocol.

```
 corpus.py      passages in a JSONL file, each read when it is wanted
 bm25.py        words: nothing to download; bm25_index.py makes its index
 server.py      POST /retrieve
```
"""
