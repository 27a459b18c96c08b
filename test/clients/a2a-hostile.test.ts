import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { startAgent } from '../start-agent.ts';
import { startGateway, testKey, testProcesses } from '../start-gateway.ts';
import { until } from '../until.ts';
import { agentRows, rpc } from './a2a-client.ts';

/* Agents and callers that do what they should not (docs/a2a.md, bounds). */

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** What the scripted agent does with the next message; null: what it should. */
let next: Answer | null = null;
const scripted = await startAgent(
  { after },
  {
    before(request, response) {
      if (next === null || request.method === 'GET') return false;
      next(request, response);
      return true;
    },
  },
);

/** An agent whose card is answered so. */
const withCard = (answer: Answer) =>
  startAgent(
    { after },
    {
      before(request, response) {
        answer(request, response);
        return true;
      },
    },
  );

const json = (body: string, status = 200): Answer => {
  return (_request, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body);
};
const events = (write: (response: ServerResponse) => void): Answer => {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    write(response);
  };
};
/** Writes the same again and again, as long as somebody reads. */
const endless = (type: string, text: string): Answer => {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': type });
    const more = () => {
      while (!response.destroyed && response.write(text));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };
};

const secret = 'credential-of-the-operator';
const shortSecret = 'sk-short';
let againLooks = 0;
const cards = {
  endless: await withCard(endless('application/json', `"${'a'.repeat(10_000)}",`)),
  page: await withCard((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')),
  elsewhere: await withCard((_request, response) =>
    response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  ),
  silent: await withCard(() => undefined),
  // Refused at first, by each process, and read for long the next time.
  again: await withCard((_request, response) => {
    againLooks += 1;
    if (againLooks <= testProcesses) response.writeHead(500).end();
  }),
  grpc: await startAgent(
    { after },
    {
      card: {
        supportedInterfaces: [
          { url: 'http://127.0.0.1/', protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: '' },
        ],
      },
    },
  ),
};
const gateway = await startGateway(
  { after: after as never },
  {
    agents: {
      scripted: {
        url: scripted.url,
        headers: { 'x-key': secret, authorization: `Basic ${shortSecret}` },
        // A busy machine takes half a second for an answer that is there.
        timeout: '2s',
        max_bytes: '200kb',
      },
      patient: { url: scripted.url, timeout: '1h' },
      ...Object.fromEntries(Object.entries(cards).map(([name, { url }]) => [name, { url }])),
    },
    plans: { default: { rpm: 'off' }, few: { rpm: 2 } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: 'sk-cv-test-key-few', account: 'few', name: 'test', plan: 'few' },
    ],
  },
);

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
const send = (method = 'SendMessage') => ({ jsonrpc: '2.0', id: 'r1', method, params: { message } });

/** Its caller waits for ten seconds: begun early. */
const late = rpc(gateway, 'silent', send());

async function refused(answer: Answer, method = 'SendMessage') {
  next = answer;
  const { status, id, error } = await rpc(gateway, 'scripted', send(method));
  next = null;
  assert.equal(id, 'r1');
  assert.doesNotMatch(error?.message ?? '', new RegExp(secret));
  return [status, error?.code, error?.message];
}

test('a card that is endless, no card, elsewhere or late leaves its agent down, and says why', async () => {
  const why = async (name: string) => (await rpc(gateway, name, send())).error?.message ?? '';
  assert.match(await why('endless'), /'endless' .*more bytes/);
  assert.match(await why('page'), /not a JSON object/);
  assert.match(await why('elsewhere'), /answered 302 when it was asked for its card/);
  // The look itself ends five seconds later, which a busy machine may need.
  assert.match((await late).error?.message ?? '', /'silent' (has a card that could not be read yet|took longer)/);
  assert.match(await why('grpc'), /no JSON-RPC interface/);
  const { status } = await rpc(gateway, 'page', send());
  assert.equal(status, 503);
});

test('an agent that is down answers 503 with Retry-After also while its card is read again', async () => {
  await until('it is looked at again', () => againLooks >= 2 * testProcesses);
  for (const request of [{ json: send() }, { path: '/.well-known/agent-card.json' }]) {
    const { path = '', ...options } = request as { path?: string; json?: object };
    const answer = await gateway.fetch(`/a2a/again${path}`, options);
    const text = await answer.text();
    assert.equal(answer.status, 503, text);
    // Until the look ends, or on a busy machine until the one after it.
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
    assert.match(text, /'again' is down \(/);
  }
});

test('an answer that is none of A2A is an error with the id, and costs nothing', async () => {
  const head = "The agent 'scripted'";
  const status = 502;
  const wrong: [answer: Answer, says: RegExp][] = [
    [json('{"jsonrpc":"2.0","id":1}'), /neither a result nor an error/],
    [json('{"jsonrpc":"2.0","id":1,"result":{"task":{"id":7}}}'), /not a result of this method/],
    [json('{"jsonrpc":"2.0","id":1,"result":"text"}'), /not a result of this method/],
    [json('[]'), /not a JSON object/],
    [json('{"jsonrpc"'), /not a JSON object/],
    [json(`{"result":${'['.repeat(100)}${']'.repeat(100)}}`), /levels of JSON/],
    [json(`{"result":[${'[],'.repeat(66_000)}[]]}`), /more members and values/],
    [json('{}', 500), /answered 500/],
    [json('{}', 401), /does not let Culvert in/],
    [(_request, response) => response.writeHead(307, { location: 'http://169.254.169.254/' }).end(), /redirects/],
    [(_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), /not an A2A message/],
    [(_request, response) => response.destroy(), /cannot be reached/],
    [endless('application/json', 'a'.repeat(10_000)), /more bytes than max_bytes/],
    [() => undefined, /took longer than 2 s/],
  ];
  const card = await refused(json('{"result":{"name":"Worker"}}'), 'GetExtendedAgentCard');
  assert.deepEqual(card.slice(0, 2), [status, -32006]);
  assert.match(String(card[2]), /not a result of this method/);
  for (const [answer, says] of wrong) {
    const [found, code, text] = await refused(answer);
    assert.deepEqual([String(text), found, code], [String(text), status, -32006]);
    assert.match(String(text), says);
    assert.ok(String(text).startsWith(head));
  }
  const [row] = await agentRows(gateway);
  assert.deepEqual([row?.class, row?.units, row?.route.agent?.outcome], ['agent-failed', 0, 'timeout']);
});

test("the agent's errors keep their code, and its answers tell none of the operator's credentials", async () => {
  const error = (code: number) => json(`{"jsonrpc":"2.0","id":1,"error":{"code":${code},"message":"No: ${secret}."}}`);
  assert.deepEqual(await refused(error(-32005)), [200, -32005, 'No: [redacted].']);
  assert.deepEqual(await refused(error(-32001)), [200, -32001, 'No: [redacted].']);
  const text = `Basic, it is ${secret} or ${shortSecret}`;
  next = json(`{"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"${text}"}]}}}`);
  const { result } = await rpc(gateway, 'scripted', send());
  next = null;
  assert.match(JSON.stringify(result), /"Basic, it is \[redacted\] or \[redacted\]"/);
});

test('tasks that an answer refers to have ids that its caller can name again', async () => {
  const parts = [{ text: 'As before.' }];
  const answer = { messageId: 'm', role: 'ROLE_AGENT', taskId: 'now', referenceTaskIds: ['before', 7], parts };
  next = json(JSON.stringify({ result: { message: answer } }));
  const { result } = await rpc(gateway, 'scripted', send());
  const { taskId, referenceTaskIds } = (result as { message: { taskId: string; referenceTaskIds: unknown[] } }).message;
  assert.deepEqual(
    [taskId, referenceTaskIds].flat().map((id) => String(id).replace(/\..*/, '')),
    ['now', 'before', '7'],
  );
  let body = '';
  next = (request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => json(JSON.stringify({ result: { message: answer } }))(request, response));
  };
  const again = { ...message, referenceTaskIds: [taskId, referenceTaskIds[0]] };
  await rpc(gateway, 'scripted', { ...send(), params: { message: again } });
  next = null;
  assert.deepEqual((JSON.parse(body) as { params: { message: object } }).params.message, {
    ...message,
    referenceTaskIds: ['now', 'before'],
  });
});

test('an agent that lists the tasks of all its clients tells a key the number of its alone', async () => {
  next = (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { contextId } = (JSON.parse(body) as { params: { contextId: string } }).params;
      const tasks = [{ id: 'mine', contextId }, ...['b', 'c'].map((id) => ({ id, contextId: id }))];
      const result = { tasks: tasks.slice(0, 1), totalSize: tasks.length, pageSize: 1, nextPageToken: '1' };
      json(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))(request, response);
    });
  };
  const { result } = await rpc(gateway, 'scripted', {
    ...send('ListTasks'),
    params: { contextId: 'mine', pageSize: 1 },
  });
  next = null;
  const { tasks, totalSize } = result as { tasks: object[]; totalSize: number };
  assert.deepEqual([tasks.length, totalSize], [1, 1]);
});

test('a stream that drips, never ends, is no stream or breaks ends with an error', async () => {
  const event = `data: {"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","parts":[]}}}\n\n`;
  const streamed = async (answer: Answer) => {
    next = answer;
    const response = await gateway.fetch('/a2a/scripted', { json: send('SendStreamingMessage') });
    const text = await response.text();
    next = null;
    const last =
      text
        .trim()
        .split('\n\n')
        .at(-1)
        ?.replace(/^data: /, '') ?? '';
    const { id, error } = JSON.parse(last) as { id: unknown; error?: { message: string } };
    assert.equal(id, 'r1');
    return [response.status, error?.message];
  };
  const head = "The agent 'scripted'";
  assert.deepEqual(await streamed(events((response) => response.write(event))), [200, `${head} took longer than 2 s.`]);
  assert.deepEqual(await streamed(endless('text/event-stream', event.repeat(100))), [
    200,
    `${head} answered with more bytes than max_bytes.`,
  ]);
  assert.deepEqual(await streamed(endless('text/event-stream', 'a'.repeat(10_000))), [
    502,
    `${head} answered with more bytes than max_bytes.`,
  ]);
  const broken = events((response) => {
    response.write(event);
    setImmediate(() => response.destroy());
  });
  assert.match(String((await streamed(broken))[1]), /cannot be reached/);
  assert.deepEqual(await streamed(events((response) => response.end())), [
    502,
    `${head} ended its answer without a result.`,
  ]);
  assert.deepEqual(await streamed(events((response) => response.end('data: what\n\n'))), [
    502,
    `${head} answered with something that is not a JSON object.`,
  ]);
  assert.deepEqual(await streamed(json('{"error":{"code":-32004,"message":"no streams"}}')), [200, 'no streams']);
});

test('a caller who leaves a silent stream ends it at the agent', async () => {
  let open = 0;
  next = events((response) => {
    open += 1;
    response.write(': waits\n\n');
    response.on('close', () => {
      open -= 1;
    });
  });
  const leaving = new AbortController();
  const asked = gateway.fetch('/a2a/patient', { json: send('SendStreamingMessage'), signal: leaving.signal });
  await until('the agent has it', () => open === 1);
  leaving.abort();
  await assert.rejects(asked);
  await until('the agent knows', () => open === 0);
  next = null;
});

test('no bad input is an error of ours, and each answer is one of JSON-RPC', async () => {
  const of = { jsonrpc: '2.0', id: 5 };
  const bad: [body: unknown, status: number, code: number][] = [
    [[], 400, -32600],
    [{}, 400, -32600],
    [{ jsonrpc: '1.0', id: 5 }, 400, -32600],
    [{ ...of, id: {} }, 400, -32600],
    [{ ...of, id: 1.5 }, 400, -32600],
    [of, 200, -32601],
    [{ ...of, kind: 'internal' }, 200, -32601],
    [{ ...of, method: 7 }, 200, -32601],
    [{ ...of, method: 'toString' }, 200, -32601],
    [{ ...of, method: 'SendMessage' }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: [] }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: {} }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message: { parts: [] } } }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message: { parts: ['text'] } } }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message: { ...message, contextId: 7 } } }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message: { ...message, task_id: 'x' } } }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message: { ...message, referenceTaskIds: 'x' } } }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message: { ...message, referenceTaskIds: ['x'] } } }, 200, -32001],
    [{ ...of, method: 'SendMessage', params: { message, configuration: 7 } }, 200, -32602],
    [{ ...of, method: 'SendMessage', params: { message, Message: message } }, 200, -32602],
    [{ ...of, method: 'GetTask', params: { id: 7 } }, 200, -32602],
    [{ ...of, method: 'GetTask', params: { id: '' } }, 200, -32602],
    [{ ...of, method: 'GetTask', params: { id: '.'.repeat(44) } }, 200, -32001],
    [{ ...of, method: 'GetTask', params: { id: 'x', ID: 'x' } }, 200, -32602],
  ];
  // Its card is read again when it is old, which is no call.
  const calls = () => scripted.heard().filter((headers) => headers['content-type'] !== undefined).length;
  const before = calls();
  for (const [body, status, code] of bad) {
    const { error, ...answer } = await rpc(gateway, 'scripted', body as object);
    assert.deepEqual([body, answer.status, error?.code], [body, status, code]);
  }
  const { error: wrong } = await rpc(gateway, 'scripted', []);
  const [{ metadata }] = (wrong as unknown as { data: [{ metadata: object }] }).data;
  assert.ok(!('param' in metadata), 'what names no field has none, and no text "null"');
  const raw = await gateway.fetch('/a2a/scripted', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc"',
  });
  assert.deepEqual([raw.status, ((await raw.json()) as { error: { code: number } }).error.code], [400, -32700]);
  const large = { ...send(), params: { message: { ...message, parts: [{ text: 'x'.repeat(1_100_000) }] } } };
  assert.equal((await rpc(gateway, 'scripted', large)).status, 413);
  assert.equal(calls(), before, 'the agent hears of none');
});

test('limits of the plan are errors of JSON-RPC with the id, and when to come again', async () => {
  const key = 'sk-cv-test-key-few';
  await rpc(gateway, 'scripted', send(), key);
  await rpc(gateway, 'scripted', send(), key);
  const response = await gateway.fetch('/a2a/scripted', { json: send(), headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 429);
  assert.ok(Number(response.headers.get('retry-after')) > 0);
  assert.equal(((await response.json()) as { error: { code: number } }).error.code, -32000);
});

test('a file at an address inside a network is refused before the agent hears of it', async () => {
  let reached = 0;
  const ask = async (part: object) => {
    next = (_request, response) => {
      reached += 1;
      response.writeHead(500).end();
    };
    const { error } = await rpc(gateway, 'patient', {
      ...send(),
      params: { message: { ...message, parts: [{ text: 'hello' }, part] } },
    });
    next = null;
    return error;
  };
  for (const url of [
    'http://169.254.169.254/latest',
    'http://127.1:8080/',
    'https://[::1]/',
    'http://10.0.0.7/a',
    'http://LOCALHOST/a',
    'http://vault.internal/a',
    'file:///etc/passwd',
  ]) {
    const [inPart, inFile] = [await ask({ url }), await ask({ kind: 'file', file: { uri: url } })];
    for (const error of [inPart, inFile])
      assert.deepEqual([error?.code, /'params\.message\.parts\[1\]'/.test(error?.message ?? '')], [-32_602, true], url);
  }
  assert.equal(reached, 0);
  await ask({ url: 'https://example.org/a.pdf' });
  assert.equal(reached, 1);
});
