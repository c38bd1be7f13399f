"""The tests need a server with slots, named by `TALARIA_BASE_URL`: test/clients/python.test.ts starts one."""

import os

import pytest

if "TALARIA_BASE_URL" not in os.environ:
    pytest.exit("TALARIA_BASE_URL names no server; run: npx vitest run test/clients", returncode=4)
