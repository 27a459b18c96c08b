import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../start-process.ts';
import type { TestResult } from './read-junit.ts';
import { toInstall } from './run-suite.ts';

/* The command as people run it, over folders in the peers' layouts whose tests are made up here. */

const command = fileURLToPath(new URL('run.ts', import.meta.url));
const missing = toInstall({ runner: 'pytest', cwd: '.', files: [] });
const skip = missing === null ? false : `pytest is not installed (${missing})`;

function layOut(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder(t);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile(process.execPath, [command, ...args], (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

const asks = `import json, os, urllib.request
def ask(url, body, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers})
    return json.load(urllib.request.urlopen(request))
`;

test("Bifrost's layout: three formats at its bases, what fails with its reason, what is skipped, what lacks a module", {
  skip,
}, async (t) => {
  const python = 'tests/integrations/python';
  const folder = layOut(t, {
    [`${python}/tests/utils/config_loader.py`]: '',
    [`${python}/tests/test_gemini.py`]: `${asks}
BASE = os.environ["BIFROST_BASE_URL"]
def test_generates():
    body = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    key = os.environ["GEMINI_API_KEY"]
    said = ask(f"{BASE}/genai/v1beta/models/openai/gpt-4o:generateContent", body, **{"x-goog-api-key": key})
    assert "hello" in said["candidates"][0]["content"]["parts"][0]["text"]
def test_chats():
    body = {"model": "anthropic/claude-sonnet-4-5", "messages": [{"role": "user", "content": "hello"}]}
    for base, key in (("openai", os.environ["OPENAI_API_KEY"]), ("litellm", "dummy-openai-key")):
        said = ask(f"{BASE}/{base}/v1/chat/completions", body, authorization=f"Bearer {key}")
        assert "hello" in said["choices"][0]["message"]["content"]
def test_signed():
    key = os.environ["AWS_ACCESS_KEY_ID"]
    body = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    signed = f"AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/bedrock/aws4_request, Signature=0"
    said = ask(f"{BASE}/bedrock/model/openai%2Fgpt-4o/converse", body, authorization=signed)
    assert "hello" in said["output"]["message"]["content"][0]["text"]
`,
    [`${python}/tests/test_other.py`]: `import pytest
def test_fails():
    assert 1 == 2, "one is not two"
@pytest.fixture
def broken():
    raise ValueError("the fixture broke")
def test_with_fixture(broken): pass
@pytest.mark.skip
def test_left_out(): pass
`,
    [`${python}/tests/test_lacks.py`]: 'import no_such_module_here',
  });
  const json = join(folder, 'out.json');
  const { code, stdout } = await run([folder, `--json=${json}`]);
  assert.equal(code, 0, stdout);
  const results = JSON.parse(readFileSync(json, 'utf8')) as TestResult[];
  const seen = results.map(({ test: name, outcome, reason }) => `${name} ${outcome} ${reason}`.trim()).sort();
  assert.deepEqual(seen, [
    'test_chats passed',
    'test_fails failed AssertionError: one is not two',
    'test_generates passed',
    'test_left_out skipped',
    'test_signed passed',
    'test_with_fixture failed ValueError: the fixture broke',
    "tests.test_lacks failed ModuleNotFoundError: No module named 'no_such_module_here'",
  ]);
  assert.match(stdout, /^tests\/test_gemini\.py +3 +0 +0$/m);
  assert.match(stdout, /^tests\/test_other\.py +0 +2 +1$/m);
  assert.match(stdout, /^ {2}test_fails: AssertionError: one is not two$/m);
  assert.match(stdout, /^total +3 +3 +1$/m);
  assert.match(stdout, /python3 -m pip install --target .+ no_such_module_here$/m);
});

test("LiteLLM's layout: at its port with its key, and with a key that it makes for a model", { skip }, async (t) => {
  if (!(await isFree(4000))) return t.skip('port 4000 is taken');
  const folder = layOut(t, {
    'tests/otel_tests/test_a.py': `${asks}
import urllib.error
AT = "http://0.0.0.0:4000"
def chat(key, model="gpt-4"):
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
    return ask(f"{AT}/chat/completions", body, authorization=f"Bearer {key}")["choices"][0]["message"]["content"]
def test_master(): assert "hello" in chat("sk-1234")
def test_not_chosen(): assert False
def test_made():
    made = ask(f"{AT}/key/generate", {"models": ["gpt-4"]}, authorization="Bearer sk-1234")["key"]
    assert "hello" in chat(made)
    try: chat(made, "gpt-4o")
    except urllib.error.HTTPError as error: assert error.code in (403, 404)
    else: assert False, "the key is for gpt-4"
`,
    'tests/unit_tests/test_b.py': 'AT = "http://0.0.0.0:4000"\ndef test_unit(): assert False',
    'tests/otel_tests/test_c.py': 'def test_without_a_proxy(): assert False',
  });
  const { code, stdout, stderr } = await run([join(folder, 'tests'), '--only=master or made']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^tests\/otel_tests\/test_a\.py +2 +0 +0$/m);
  assert.match(stdout, /^total +2 +0 +0$/m);
});

test('the usage says which peers are known, for no folder, a folder that is not there and one of something else', async (t) => {
  const folder = temporaryFolder(t);
  for (const args of [[], [join(folder, 'none')], [folder], [folder, '--what']]) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, ''], stderr);
    assert.match(stderr, /Bifrost, which has .*config_loader\.py[\s\S]*LiteLLM, which has .*otel_tests/);
  }
});

function isFree(port: number): Promise<boolean> {
  return new Promise((known) => {
    const server = createServer();
    server.on('error', () => known(false));
    server.listen(port, '127.0.0.1', () => server.close(() => known(true)));
  });
}
