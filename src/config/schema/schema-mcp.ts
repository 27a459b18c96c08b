import { z } from 'zod';
import { duration, globs, httpUrl, positiveInt, secret, secretOrPath, size, someText } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { headersSchema } from './schema-route.ts';

/** The separator between the name of a server and that of its tool. */
export const mcpSeparator = '__';

/** Fits into the name of a tool, and into the scheme of an address. */
export const mcpServerName = z
  .string({ error: "expected a server's name" })
  .regex(
    /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/,
    'a server has small letters, digits and single hyphens in its name, a letter first',
  )
  .max(32, 'the name of a server has at most 32 characters')
  .meta({ kind: 'name' });

const oauthSchema = z
  .strictObject({
    grant: z
      .enum(['client_credentials', 'authorization_code'])
      .default('client_credentials')
      .describe(
        'How Culvert gets tokens: as a client with a secret, or by an operator’s login (`culvert mcp-servers login`).',
      ),
    issuer: httpUrl()
      .optional()
      .describe(
        'The authorization server, as the MCP server names it. The secret is sent to no other. A login without one takes the server that the MCP server names.',
      ),
    client_id: someText(500)
      .optional()
      .describe('The client that is registered there. A login without one registers a client.'),
    client_secret: secret().optional().describe('Its secret.'),
    scope: someText(2_000)
      .optional()
      .describe('Scopes of the tokens, with spaces between them. Default of a login: those that the MCP server names.'),
  })
  .refine(
    ({ grant, issuer, client_id, client_secret }) =>
      grant === 'authorization_code' || [issuer, client_id, client_secret].every((one) => one !== undefined),
    { error: 'client_credentials need issuer, client_id and client_secret; for a login set grant: authorization_code' },
  )
  .refine(({ issuer, client_id, client_secret }) => client_secret === undefined || (issuer && client_id), {
    error: 'a client_secret needs issuer and client_id',
    path: ['client_secret'],
  })
  .describe('Tokens by OAuth 2.1, which Culvert renews, for the url.');

const oftenSet = {
  data: dataFactsSchema,
  headers: headersSchema('Headers sent with every message to the url.'),
  oauth: oauthSchema.optional(),
  tools: z
    .strictObject({
      allow: globs().optional().describe('Tools and prompts that are offered; * matches any characters. Default: all.'),
      deny: globs().default([]).describe('Those of them that are not.'),
    })
    .prefault({})
    .describe('Which of its tools and prompts are offered.'),
  timeout: duration({ min: '10ms', max: '1h' }).prefault('60s').describe('Longest time of a call.'),
  max_bytes: size({ max: '64mb' }).prefault('4mb').describe('Maximum size of an answer after decompression.'),
};

/** A server that is set up while Culvert runs: none that is a program. */
export const mcpUrlServerSchema = z.strictObject({
  url: httpUrl().describe('Its address, for Streamable HTTP.'),
  ...oftenSet,
});

export const mcpServerSchema = z
  .strictObject({
    url: httpUrl().optional().describe('Its address, for Streamable HTTP.'),
    openapi: someText(4_096)
      .meta({ mark: 'address' })
      .optional()
      .describe(
        'URL or path of an OpenAPI 3 document instead: the operations of that HTTP API are the tools. Only a file can say this.',
      ),
    base_url: httpUrl()
      .optional()
      .describe(
        'Address of the API of `openapi`. Default: the first server of the document, where it is at the same origin.',
      ),
    command: someText()
      .optional()
      .describe('The program to run instead, which speaks over standard input and output. Only a file can say this.'),
    // Many programs take their key so: no argument is shown.
    args: z
      .array(z.string().max(8_192).meta({ mark: 'secret' }))
      .max(100)
      .default([])
      .describe('Arguments of the program.'),
    env: z
      .record(someText(200), secretOrPath(0))
      .default({})
      .describe('Variables of the program, in addition to PATH, HOME and a few more. It gets none of Culvert’s own.'),
    processes: positiveInt(100)
      .default(8)
      .describe('Most concurrent processes of the program. Each key that calls it has its own.'),
    ...oftenSet,
  })
  .refine(({ url, command, openapi }) => [url, command, openapi].filter((one) => one !== undefined).length === 1, {
    error: 'give one of url, command and openapi',
  })
  .refine(({ base_url, openapi }) => base_url === undefined || openapi !== undefined, {
    error: 'base_url belongs to openapi',
    path: ['base_url'],
  })
  .refine(({ oauth, openapi }) => oauth === undefined || openapi === undefined, {
    error: 'an API of openapi takes headers, and no oauth',
    path: ['oauth'],
  })
  .describe('An MCP server elsewhere.');

export const mcpServersSchema = z
  .record(mcpServerName, mcpServerSchema)
  .default({})
  .describe(`MCP servers whose tools are offered at /mcp, as \`NAME${mcpSeparator}TOOL\`, by their names.`);

/** MCP servers whose tools are offered here. */
export const mcpSchema = z
  .strictObject({ servers: mcpServersSchema })
  .describe('MCP servers elsewhere, whose tools keys may call here.');
