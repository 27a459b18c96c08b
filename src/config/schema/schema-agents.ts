import { z } from 'zod';
import { readOperatorHeaders } from '../../formats/providers/credential-headers.ts';
import { costUnitsMax, duration, httpUrl, milliMultiple, name, size } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { headersSchema } from './schema-route.ts';

/** Records of messages to an agent have this and its name in the place of the model. */
export const agentPrefix = 'a2a/';

export const agentName = name("an agent's name");

export const agentSchema = z
  .strictObject({
    url: httpUrl().describe(
      'Where its agent card is: below this address at `/.well-known/agent-card.json`, or at the address itself if it ends with .json.',
    ),
    endpoint: httpUrl()
      .optional()
      .describe(
        'Address of its JSON-RPC interface. Default: the path that the card names, at the origin of the url. No headers go elsewhere.',
      ),
    data: dataFactsSchema,
    headers: headersSchema('Headers sent with every message to the agent, such as its credential.').check((context) => {
      const read = readOperatorHeaders(context.value);
      if (!read.ok) context.issues.push({ code: 'custom', input: context.value, message: read.message });
    }),
    cost: milliMultiple(z.number().min(0).max(costUnitsMax))
      .optional()
      .describe('Units a message to it costs. Default: `costs.a2a`.'),
    timeout: duration({ min: '10ms', max: '1h' }).prefault('5m').describe('Longest time of a call, and of a stream.'),
    max_bytes: size({ max: '64mb' }).prefault('8mb').describe('Maximum size of an answer after decompression.'),
  })
  .describe('An agent elsewhere that speaks A2A.');

/** Agents that keys may call here. */
export const agentsSchema = z
  .record(agentName, agentSchema)
  .default({})
  .describe('Agents elsewhere that speak A2A, which keys may call at /a2a/NAME, by their names.');
