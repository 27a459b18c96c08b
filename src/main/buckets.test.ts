import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigText } from '../config/check.ts';
import { bucketOpener } from './buckets.ts';

test('a bucket without an endpoint is at the address of its region, in China too', async () => {
  const seen: string[] = [];
  for (const region of ['eu-central-1', 'us-gov-west-1', 'cn-north-1']) {
    const env = { AWS_REGION: region, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
    const checked = checkConfigText('{}', 'culvert.yaml', env);
    assert.ok(checked.ok);
    const proxyOf = ({ host }: URL) => {
      seen.push(host);
      return null;
    };
    await bucketOpener('s3://b/f', checked.config.storage.s3, 'storage.files', { env, proxyOf })();
  }
  assert.deepEqual(seen, [
    's3.eu-central-1.amazonaws.com',
    's3.us-gov-west-1.amazonaws.com',
    's3.cn-north-1.amazonaws.com.cn',
  ]);
});
