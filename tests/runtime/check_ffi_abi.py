#!/usr/bin/env python3
"""check_ffi_abi.py HEADER FACTS CC: the FFI's header against the recorded layout, one static assertion per fact."""
import json
import re
import subprocess
import sys

header, facts, compiler = sys.argv[1:]
abi = json.load(open(facts))
later = abi['changes_to_0_5']
# Structures of 0.5 that the header writes under the name of 0.3, with the fields of both.
MERGED = {'XLA_FFI_Error_GetDetails_Args': 'XLA_FFI_Error_GetMessage_Args', 'XLA_FFI_InvokeContext_Get_Args': 'XLA_FFI_ExecutionContext_Get_Args'}
RENAMED = {new: old for old, new in later['renamed_types'].items()}
checks = []


def check(condition):
    checks.append(f'_Static_assert({condition}, "{condition.replace(chr(34), "")}");')


def check_struct(struct, name):
    for field in struct['fields']:
        place, kind = f'(({name}*)0)->{field["name"]}', re.sub(r'\w+', lambda m: RENAMED.get(m[0], m[0]), field['type'])
        check(f'offsetof({name}, {field["name"]}) == {field["offset"]} && sizeof({place}) == {field["size"]}')
        if struct['name'] != 'XLA_FFI_Api':
            check(f'__builtin_types_compatible_p(__typeof__({place}), {kind})')


for enum in abi['enums']:
    for value in enum['values']:
        check(f'{value["name"]} == {value["value"]}')
for name, value in later['new_enum_values'].items():
    check(f'{name} == {value}')
for struct in abi['structs']:
    name = struct['name']
    check_struct(struct, name)
    if name not in (*MERGED.values(), 'XLA_FFI_Api'):
        check(f'sizeof({name}) == {struct["sizeof"]}')
    if 'struct_size_const' in struct and name != 'XLA_FFI_Api':
        check(f'{name}_STRUCT_SIZE == {struct["struct_size_const"]}')
for struct in later['new_structs']:
    check_struct(struct, MERGED.get(struct['name'], struct['name']))
    check(f'sizeof({MERGED.get(struct["name"], struct["name"])}) == {struct["sizeof"]}')
for slot in abi['function_table']:
    check(f'__builtin_types_compatible_p(__typeof__(((XLA_FFI_Api*)0)->{slot["name"]}), {slot["returns"]} (*)({slot["args"][0]}))')
for slot in later['slots']:
    if slot['in_0_3'] is None:
        check(f'offsetof(XLA_FFI_Api, {slot["in_0_5"]}) == {48 + 8 * slot["slot"]}')
check('XLA_FFI_Api_STRUCT_SIZE == 48 + 8 * 20')
check(f'XLA_FFI_API_MAJOR == {abi["version"]["XLA_FFI_API_MAJOR"]}')

source = f'#include "{header}"\n' + '\n'.join(checks) + '\n'
result = subprocess.run([compiler, '-x', 'c', '-std=gnu11', '-fsyntax-only', '-w', '-ferror-limit=0' if 'clang' in compiler else '-fmax-errors=0', '-'],
                        input=source, capture_output=True, text=True)  # fmt: skip
failed = re.findall(r'error: (.*)', result.stderr)
print('\n'.join(failed[:40]))
print(f'{len(checks) - len(failed)} passed, {len(failed)} failed')
sys.exit(result.returncode)
