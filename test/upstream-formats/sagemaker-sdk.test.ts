import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  InvokeEndpointCommand,
  InvokeEndpointWithResponseStreamCommand,
  SageMakerRuntimeClient,
} from '@aws-sdk/client-sagemaker-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { startUpstream } from '../start-upstream.ts';
import { sageMaker, startAws, testAwsKeys } from './start-aws.ts';

/* The scriptable upstream is what AWS's own SDK takes for SageMaker. */

const messages = [{ role: 'user' as const, content: 'Hello there' }];
const EndpointName = 'mock-ok';

async function open(t: Parameters<typeof startAws>[0], secretAccessKey = testAwsKeys.secretAccessKey) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url } = await startAws(t, upstream, sageMaker(7));
  return new SageMakerRuntimeClient({
    endpoint: url,
    region: 'eu-west-1',
    credentials: { ...testAwsKeys, secretAccessKey },
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  });
}

test("AWS's SDK signs requests that the upstream takes, and reads whole answers and streams", async (t) => {
  const client = await open(t);
  const ContentType = 'application/json';
  const whole = await client.send(
    new InvokeEndpointCommand({ EndpointName, ContentType, Body: JSON.stringify({ messages }) }),
  );
  assert.match(JSON.parse(Buffer.from(whole.Body).toString()).choices[0].message.content, /Hello there/);
  const streamed = await client.send(
    new InvokeEndpointWithResponseStreamCommand({
      EndpointName,
      ContentType,
      Body: JSON.stringify({ messages, stream: true }),
    }),
  );
  const parts: Uint8Array[] = [];
  for await (const { PayloadPart } of streamed.Body!) parts.push(PayloadPart!.Bytes!);
  assert.ok(parts.length > 10);
  const text = Buffer.concat(parts).toString();
  assert.match(text, /^data: \{/);
  assert.match(text, /data: \[DONE\]\n\n$/);
});

test('the upstream refuses a signature by another secret', async (t) => {
  const client = await open(t, 'another secret');
  await assert.rejects(client.send(new InvokeEndpointCommand({ EndpointName, Body: '{}' })), {
    name: 'InvalidSignatureException',
  });
});
