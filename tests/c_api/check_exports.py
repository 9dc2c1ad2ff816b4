#!/usr/bin/env python3
"""check_exports.py LIBRARY KILN_H: fails when the library shows a symbol that is neither GetPjrtApi nor a function of
kiln.h, or lacks one of them."""
import re
import subprocess
import sys

library, header = sys.argv[1:]
lines = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
shown = {line.split()[-1].split('@')[0] for line in lines.splitlines() if line.strip()}
text = re.sub(r'/\*.*?\*/', '', open(header).read(), flags=re.S)
wanted = set(re.findall(r'\b(kiln_\w+)\(', text)) | {'GetPjrtApi'}
for name in sorted(shown - wanted):
    print('shown but not meant to be:', name)
for name in sorted(wanted - shown):
    print('missing:', name)
print(len(shown), 'symbols shown,', len(wanted), 'wanted')
sys.exit(shown != wanted)
