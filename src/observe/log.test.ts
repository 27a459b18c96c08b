import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { isoNow, LineOutput, type LoggedRequest, levelInWords, requestLog, timestamp } from './log.ts';

const request: LoggedRequest = {
  requestId: 'req_1',
  clientRequestId: null,
  account: 'dev',
  keyId: 'sk-cv-declared:dev/laptop',
  endpoint: 'chat',
  alias: 'a "b"\n',
  target: 'openai/gpt-x',
  status: 200,
  class: 'ok',
  stream: false,
  ms: 12,
  firstTokenMs: 1.5,
  inputTokens: 40,
  outputTokens: 400,
  usageSource: 'upstream',
  user: null,
};

test('the line of a request is the one that pino would write', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-02T03:04:05.678Z') });
  const lines: string[] = [];
  const log = pino(
    { base: null, timestamp, formatters: { level: levelInWords } },
    { write: (line) => void lines.push(line) },
  );
  const write = requestLog(log);
  const changes: Partial<LoggedRequest>[] = [
    {},
    { requestId: 'req_2', ms: 13, stream: true },
    { clientRequestId: 'mine-"1' },
    { user: 'x"\u2028 ü' },
    // Each caller differs from the last in one thing.
    { account: 'other' },
    { keyId: 'k' },
    { endpoint: 'responses' },
    { alias: 'smart' },
    { target: null, status: 502, class: 'upstreams-failed', firstTokenMs: null },
  ];
  for (const change of changes) {
    const one = { ...request, ...change };
    const { requestId, account, keyId, endpoint, alias, target, status, stream, ms, firstTokenMs } = one;
    const { inputTokens, outputTokens, usageSource, user } = one;
    const ids = { requestId, clientRequestId: one.clientRequestId ?? undefined };
    const who = { ...ids, account, keyId, endpoint, model: alias, target };
    const how = {
      status,
      class: one.class,
      attempts: 2,
      stream,
      ms,
      firstTokenMs,
      inputTokens,
      outputTokens,
      usageSource,
    };
    write(one, 2);
    log.info({ ...who, ...how, user: user ?? undefined }, 'request');
    assert.equal(lines[0], lines[1]);
    lines.length = 0;
  }
});

test('the time of a line is that of Date, whatever the millisecond', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  for (const iso of [
    '2026-01-02T03:04:05.000Z',
    '2026-01-02T03:04:05.009Z',
    '2026-01-02T03:04:05.099Z',
    '2026-01-02T03:04:05.999Z',
    '2026-01-02T03:04:06.000Z',
    // A clock that was set back.
    '2026-01-02T03:03:59.123Z',
  ]) {
    t.mock.timers.setTime(Date.parse(iso));
    assert.equal(isoNow(), iso);
  }
});

function outputFile(): { file: string; fd: number } {
  const file = join(mkdtempSync(join(tmpdir(), 'culvert-lines-')), 'log');
  return { file, fd: openSync(file, 'a') };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('lines are written in order, in batches, and the rest when asked', async () => {
  const { file, fd } = outputFile();
  const output = new LineOutput({ fd, batchBytes: 100, waitingBytesMax: 1_000_000 });
  const lines = Array.from({ length: 500 }, (_, i) => `line ${i} – ü\n`);
  for (const [i, line] of lines.entries()) {
    output.write(line);
    if (i % 50 === 0) await turn();
  }
  while (readFileSync(file, 'utf8').length < lines.join('').length) {
    output.flush();
    await turn();
  }
  assert.equal(readFileSync(file, 'utf8'), lines.join(''));
});

test('what waits at the end is written at once', () => {
  const { file, fd } = outputFile();
  const output = new LineOutput({ fd, batchBytes: 1_000, waitingBytesMax: 1_000 });
  output.write('last\n');
  output.flushSync();
  assert.equal(readFileSync(file, 'utf8'), 'last\n');
});

test('F60 a sink that is gone costs lines and nothing else', async () => {
  // Refuses every write as a closed one does, whose number the next test's file might get.
  const fd = openSync('/dev/null', 'r');
  const output = new LineOutput({ fd, batchBytes: 10, waitingBytesMax: 100 });
  for (let i = 0; i < 1_000; i += 1) output.write('a line of the log\n');
  await turn();
  output.write('another\n');
  output.flushSync();
});

test('beyond the bound lines are dropped whole', () => {
  const { file, fd } = outputFile();
  const output = new LineOutput({ fd, batchBytes: 1_000, waitingBytesMax: 12 });
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n']) output.write(line);
  output.flushSync();
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
});

test('the last lines before a close are written, and a closed log does not hold the process', () => {
  const script = `
    import { createLogTo } from ${JSON.stringify(new URL('./log.ts', import.meta.url).href)};
    const { log, close } = await createLogTo('stdout', 'info');
    log.info('the last words');
    close();`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  assert.match(stdout.toString(), /"msg":"the last words"/);
});
