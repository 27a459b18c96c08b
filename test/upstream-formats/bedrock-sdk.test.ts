import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { testAwsKeys } from './start-aws.ts';
import { type Bedrock, startBedrock } from './start-bedrock.ts';

/* The scriptable upstream is what AWS's own SDK takes for Bedrock. */

const model = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3';
const messages = [{ role: 'user' as const, content: [{ text: 'Hi' }] }];

function clientOf({ url }: Bedrock, secretAccessKey = testAwsKeys.secretAccessKey): BedrockRuntimeClient {
  return new BedrockRuntimeClient({
    endpoint: url,
    region: 'us-east-1',
    credentials: { ...testAwsKeys, secretAccessKey },
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  });
}

test("AWS's SDK signs requests that the upstream takes, an ARN in the path too, and reads whole answers", async (t) => {
  const bedrock = await startBedrock(t);
  const client = clientOf(bedrock);
  const answer = await client.send(new ConverseCommand({ modelId: model, messages }));
  assert.equal(answer.output?.message?.content?.[0]?.text, 'Hello from Bedrock.');
  assert.equal(answer.usage?.totalTokens, 18);
  assert.equal(bedrock.requests[0]!.model, model);
  const invoked = await client.send(new InvokeModelCommand({ modelId: model, body: '{"messages":[]}' }));
  assert.match(Buffer.from(invoked.body).toString(), /Hello from Claude/);
});

test("AWS's SDK reads streams of both operations", async (t) => {
  const client = clientOf(await startBedrock(t));
  const { stream } = await client.send(new ConverseStreamCommand({ modelId: model, messages }));
  const texts: string[] = [];
  for await (const event of stream!) texts.push(event.contentBlockDelta?.delta?.text ?? '');
  assert.equal(texts.join(''), 'Hello from Bedrock.');
  const { body } = await client.send(new InvokeModelWithResponseStreamCommand({ modelId: model, body: '{}' }));
  const types: string[] = [];
  for await (const { chunk } of body!) types.push(JSON.parse(Buffer.from(chunk!.bytes!).toString()).type);
  assert.equal(types.at(0), 'message_start');
  assert.equal(types.at(-1), 'message_stop');
});

test("AWS's SDK sees an exception inside a stream as the exception that it is", async (t) => {
  const bedrock = await startBedrock(t);
  bedrock.script('converse-stream', [
    {
      events: [
        ['messageStart', { role: 'assistant' }],
        ['throttlingException', { message: 'Slow down.' }, 'exception'],
      ],
    },
  ]);
  const { stream } = await clientOf(bedrock).send(new ConverseStreamCommand({ modelId: model, messages }));
  await assert.rejects(
    async () => {
      for await (const event of stream!) void event;
    },
    { name: 'ThrottlingException', message: 'Slow down.' },
  );
});

test('the upstream refuses a signature by another secret', async (t) => {
  const client = clientOf(await startBedrock(t), 'another secret');
  await assert.rejects(client.send(new ConverseCommand({ modelId: model, messages })), {
    name: 'InvalidSignatureException',
  });
});
