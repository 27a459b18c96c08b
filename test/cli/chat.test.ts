import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { overUpstreams, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { closedPort, launch, runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

async function startOver(
  t: TestContext,
): Promise<{ upstream: Upstream; gateway: TestGateway; env: Record<string, string> }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  return { upstream, gateway, env: { CULVERT_URL: `${gateway.url}/v1`, CULVERT_API_KEY: testKey } };
}

// They mostly wait for child processes.
describe('culvert chat', { concurrency: true }, () => {
  test('chat streams the answer of the first model that chats; --no-stream and --json ask for it whole', async (t) => {
    const { upstream, env } = await startOver(t);
    const cwd = temporaryFolder(t);
    upstream.script(
      '/v1/chat/completions',
      Array.from({ length: 3 }, () => 'text=One, two'),
    );
    const streamed = await runCommand(['chat', 'Count', '--system', 'Be brief'], { cwd, env });
    assert.deepEqual([streamed.code, streamed.stdout, streamed.stderr], [0, 'One, two\n', '']);
    const whole = await runCommand(['chat', '-', '--no-stream', '--model', 'chat'], { cwd, env, input: 'Count' });
    assert.deepEqual([whole.code, whole.stdout], [0, 'One, two\n']);
    const json = await runCommand(['chat', 'Count', '--json'], { cwd, env });
    assert.equal((JSON.parse(json.stdout) as { object: string }).object, 'chat.completion');
    const bodies = upstream
      .requests()
      .map(({ body }) => (body ?? {}) as { stream?: boolean; messages?: unknown })
      .filter(({ messages }) => messages !== undefined);
    assert.deepEqual(
      bodies.map(({ stream }) => stream),
      [true, false, false],
    );
    assert.deepEqual(bodies[0]?.messages, [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Count' },
    ]);
    assert.deepEqual(bodies[1]?.messages, [{ role: 'user', content: 'Count' }]);
  });

  test('chat tells a failure in one sentence: a wrong key, an unknown model, a cut answer, no server, no key', async (t) => {
    const { upstream, env } = await startOver(t);
    const cwd = temporaryFolder(t);
    const failing = async (args: string[], more: Record<string, string>, sentence: RegExp) => {
      const ran = await runCommand(['chat', 'Hi', ...args], { cwd, env: { ...env, ...more } });
      assert.equal(ran.code, 1);
      assert.match(ran.stderr, sentence);
      assert.equal(ran.stderr.trim().split('\n').length, 1);
    };
    const answer = 'always text=One two three;chunks=3';
    upstream.script('/v1/chat/completions', [`${answer};interval=20ms;cut=3events`]);
    // Straight from a server that ends as if all were well, and from one whose connection breaks.
    const ending = await startUpstream({ faults: 'text=One two;chunks=3;eof=3events' });
    const breaking = await startUpstream({ faults: 'text=One two;chunks=3;interval=20ms;cut=3events' });
    t.after(() => Promise.all([ending.close(), breaking.close()]));
    const notComplete = /^The connection ended before the answer did/;
    await Promise.all([
      failing([], { CULVERT_API_KEY: 'sk-cv-wrong-key-00001' }, /answered 401: The API key is not valid/),
      failing(['--model', 'chet'], {}, /answered 404: .*Did you mean 'chat'/),
      failing([], {}, /^All upstream providers failed|closed|ended/),
      failing(['--model', 'sim/chat'], { CULVERT_URL: ending.url }, notComplete),
      failing(['--model', 'sim/chat'], { CULVERT_URL: breaking.url }, notComplete),
      failing(
        [],
        { CULVERT_URL: `http://127.0.0.1:${await closedPort()}` },
        /^No answer from http:\S+ \(ECONNREFUSED\)/,
      ),
      failing([], { CULVERT_URL: '' }, /^No server runs here/),
      failing([], { CULVERT_API_KEY: '' }, /^No key is set/),
    ]);
  });

  test('Ctrl-C during an answer closes the stream, and the upstream with it', async (t) => {
    const { upstream, env } = await startOver(t);
    upstream.script('/v1/chat/completions', ['text=Hello;chunks=5;interval=30ms;stall=4events']);
    const chat = launch(t, ['chat', 'Hi', '--model', 'chat'], { env });
    await chat.said('H');
    chat.child.kill('SIGINT');
    assert.deepEqual(await chat.exited, { code: 130, signal: null });
    assert.equal(chat.stderr(), '');
    const request = await upstream.when(({ path, ended_ms }) => path === '/v1/chat/completions' && ended_ms !== null);
    assert.equal(request.aborted, true);
  });

  test('models and keys meet a running server: it is found by its data folder, and a new key opens it', async (t) => {
    const { gateway } = await startOver(t);
    const cwd = temporaryFolder(t);
    const { writeFileSync } = await import('node:fs');
    writeFileSync(`${cwd}/culvert.yaml`, `storage: { data_dir: "${gateway.dataDir}" }\n`);
    const made = await runCommand(['keys', 'create', '--account', 'new', '--name', 'cli'], { cwd });
    assert.equal(made.code, 0, made.stderr);
    const key = made.stdout.trim();
    const startedMs = performance.now();
    let status = 401;
    while (status === 401 && performance.now() - startedMs < 20_000) {
      const answer = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      await answer.text();
      status = answer.status;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(status, 200);
    const models = await runCommand(['models'], { cwd, env: { CULVERT_API_KEY: key } });
    const { data } = JSON.parse(models.stdout) as {
      data: { id: string; status: string; model_type: string }[];
    };
    // Embedding models are there without being configured, as soon as the provider's list is heard.
    const chats = data.filter(({ model_type }) => model_type === 'chat');
    assert.deepEqual(
      chats.map(({ id, status }) => [id, status]),
      [['chat', 'healthy']],
    );
  });
});
