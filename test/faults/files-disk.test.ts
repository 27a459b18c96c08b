import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { imagesPath, imageWorld, inBase64, startDrawing } from '../contract/image-world.ts';
import type { ErrorBody } from '../contract/served.ts';

test('F30 disk full: a picture that cannot be kept for its link is 503 and costs nothing, as base64 it comes', async (t) => {
  const upstream = await startDrawing(inBase64);
  t.after(() => upstream.close());
  const { gateway, record } = await imageWorld(t, {
    providers: { one: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    models: { pic: { type: 'image', targets: [{ provider: 'one', model: 'pic-1', price: { image: 0.04 } }] } },
  });
  const disk = join(gateway.dataDir, 'files');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status !== 0)
    return t.skip('no file system can be mounted here (needs root)');
  try {
    assert.throws(() => writeFileSync(join(disk, 'ballast'), Buffer.alloc(128 * 1024)), /ENOSPC/);
    const draw = (json: object) => gateway.fetch(imagesPath, { json: { model: 'pic', prompt: 'x', ...json } });

    const refused = await draw({});
    const { error } = (await refused.json()) as ErrorBody;
    assert.deepEqual([refused.status, error.type], [503, 'overloaded_error'], error.message);
    assert.match(error.message, /b64_json/);
    assert.equal(refused.headers.get('x-culvert-cost'), '0');
    const { units, route } = await record(refused);
    assert.equal(units, 0);
    // The operator paid for it once: nobody is asked to draw it again.
    assert.deepEqual(
      route.attempts.map(({ usage }) => usage?.images),
      [1],
    );
    assert.equal(upstream.calls.length, 1);

    assert.equal((await draw({ response_format: 'b64_json' })).status, 200);
    rmSync(join(disk, 'ballast'));
    assert.equal((await draw({})).status, 200);
  } finally {
    // Before the gateway removes its folder; a file of it may still be open.
    spawnSync('umount', ['-l', disk]);
  }
});
