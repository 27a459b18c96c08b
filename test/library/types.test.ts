import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../start-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

const application = `
import { createServer } from 'node:http';
import { Hono } from 'hono';
import createFastify from 'fastify';
import type { Hooks } from 'culvert-gateway/hooks';
import { createGateway, GatewayError, type CulvertConfig, type Gateway } from 'culvert-gateway';
import { convertAnswer, convertRequest, convertStream, asTransformStream, FormatError, type StreamConverter } from 'culvert-gateway/formats';

export default { version: 1, onRequest: ({ texts }) => ({ texts: [{ at: 0, text: texts[0]?.text ?? '' }] }) } satisfies Hooks;
// @ts-expect-error: no hook may
export const rich: Hooks = { version: 1, onRequest: () => ({ account: 'rich' }) };

const config: CulvertConfig = {
  providers: { openai: { type: 'openai', api_key: 'none' } },
  models: { chat: { targets: [{ provider: 'openai', model: 'gpt-5' }] } },
};
const gateway: Gateway = createGateway({ config, basePath: '/ai', log: (line: string) => void line });
createServer(gateway.handler).on('upgrade', gateway.upgrade);
const app = new Hono().mount('/ai', gateway.fetch);
app.all('/own/*', (context) => gateway.fetch(context.req.raw));
await createFastify().register(gateway.fastify, { prefix: '/ai' });
export const { GET, POST } = gateway.next;
const { url } = await gateway.listen({ port: 0 });
url satisfies string;
await gateway.reload({ ...config, simulator: 'off' }).catch((error) => error instanceof GatewayError && error.problems[0]?.path);
await gateway.close({ graceMs: 0 });

const { body, dropped, answer } = convertRequest('openai-chat', 'anthropic-messages', { model: 'm', messages: [] });
dropped[0]?.why satisfies 'unknown' | 'unsupported' | 'clamped' | 'narrowed' | undefined;
convertAnswer('anthropic-messages', 'gemini', body, { answer });
const stream: StreamConverter = convertStream('bedrock-converse', 'ollama');
new Blob([]).stream().pipeThrough(asTransformStream(stream));
new FormatError('', { param: null, status: 400 });

// @ts-expect-error: no such format
convertStream('morse', 'ollama');
// @ts-expect-error: a misspelt setting
createGateway({ config: { modles: {} } });
// @ts-expect-error: a value of another type
createGateway({ config: { simulator: 'maybe' } });
`;

test('the types that the package ships are whole, and say what an application may do', async (t) => {
  const folder = temporaryFolder(t);
  const packed = join(folder, 'node_modules', 'culvert-gateway');
  const { writeLibraryTypes } = (await import(String(new URL('../../scripts/library-types.mjs', import.meta.url)))) as {
    writeLibraryTypes(folder: string): void;
  };
  writeLibraryTypes(join(packed, 'dist', 'types'));
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object };
  writeFileSync(join(packed, 'package.json'), JSON.stringify({ name: 'culvert-gateway', type: 'module', exports }));
  for (const name of ['hono', 'fastify', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'app.ts'), application);
  const options = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--target', 'es2024', '--types', 'node'];
  const modules = ['--module', 'nodenext', '--moduleResolution', 'nodenext'];
  const checked = await run(
    join(root, 'node_modules/.bin/tsc'),
    [...options, ...modules, '--skipLibCheck', 'false', 'app.ts'],
    {
      cwd: folder,
    },
  ).catch((error: { stdout: string }) => error);
  assert.equal(checked.stdout, '');
});
