import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { startAwkwardSite } from '../tools/awkward-site.ts';
import { searxngSays } from '../tools/start-engine.ts';
import { openToolsWorld } from './world.ts';

/* Pages that the model reads, fetched by the gateway for models of other providers. */

const t = { after: after as TestContext['after'] };
const site = await startAwkwardSite(t);
const { openai, anthropic, gateway, config, upstream, engine, sent, rows } = await openToolsWorld(t, {
  fetch: { allow_private: [site.place] },
});
const paths = { chat: '/v1/chat/completions', claude: '/v1/messages', native: '/v1/chat/completions' } as const;
const words = 'It has **words**';

const fetching: Anthropic.WebFetchTool20250910 = { type: 'web_fetch_20250910', name: 'web_fetch' };
const reading = (url: string) => `Please call web_fetch, and read ${url}`;
const asked = (
  model: string,
  url: string,
  tool: Partial<Anthropic.WebFetchTool20250910> = {},
): Anthropic.MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: 500,
  messages: [{ role: 'user', content: reading(url) }],
  tools: [{ ...fetching, ...tool }],
});

/** The result in a message, and what the model was told of it. */
async function fetched(params: Anthropic.MessageCreateParamsNonStreaming, script: Record<string, string[]> = {}) {
  sent();
  for (const [path, says] of Object.entries(script)) upstream.script(path, says);
  const { content, usage } = await anthropic.messages.create(params);
  const [call, block] = content;
  assert.ok(call?.type === 'server_tool_use' && block?.type === 'web_fetch_tool_result');
  assert.equal(block.tool_use_id, call.id);
  return { result: block.content, input: call.input, told: JSON.stringify(sent().at(-1)), usage, content };
}

for (const [model, path] of Object.entries(paths)) {
  test(`Messages: a page is a document, and the answer cites it (${model})`, async () => {
    const url = `${site.url}/article`;
    const params = asked(model, url, { citations: { enabled: true } });
    const { result, input, told, usage, content } = await fetched(params, {
      [path]: ['ok', 'text=It has words【1】.'],
    });
    assert.deepEqual(input, { url });
    assert.ok(result.type === 'web_fetch_result' && result.content.source.type === 'text');
    assert.deepEqual([result.url, result.content.title], [url, 'An article']);
    assert.ok(result.content.source.data.includes(words));
    assert.ok(Number.isFinite(Date.parse(result.retrieved_at!)));
    assert.ok(told.includes('【1】 An article') && told.includes(words));
    const text = content.at(-1)!;
    assert.ok(text.type === 'text' && text.citations?.[0]?.type === 'char_location');
    assert.deepEqual([text.citations[0].document_title, text.citations[0].document_index], ['An article', 0]);
    assert.deepEqual(usage.server_tool_use, { web_search_requests: 0, web_fetch_requests: 1 });
  });

  test(`Messages: streamed, the client puts the same message together (${model})`, async () => {
    upstream.script(path, ['ok', 'text=Words.', 'ok', 'text=Words.;chunks=3']);
    const params = asked(model, `${site.url}/article`);
    const whole = await anthropic.messages.create(params);
    const streamed = await anthropic.messages.stream(params).finalMessage();
    const shape = ({ content }: Anthropic.Message) =>
      JSON.parse(JSON.stringify(content).replaceAll(/srvtoolu_cv_\w+|\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'same')) as unknown;
    assert.deepEqual(shape(streamed), shape(whole));
    assert.deepEqual(streamed.usage.server_tool_use, whole.usage.server_tool_use);
  });

  test(`Messages: the next turn gives the model the page that was read before (${model})`, async () => {
    const { messages, ...rest } = asked(model, `${site.url}/article`);
    const first = await anthropic.messages.create({ ...rest, messages });
    sent();
    await anthropic.messages.create({
      ...rest,
      messages: [...messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'And?' }],
    });
    const told = JSON.stringify(sent()[0]);
    assert.ok(told.includes(words));
    assert.doesNotMatch(told, /server_tool_use|web_fetch_tool_result/);
  });

  test(`Responses: a page is an action of the web search, and is cited by its address (${model})`, async () => {
    upstream.script(path, ['ok', 'text=Words【1】.;chunks=4']);
    const tools = [{ type: 'web_fetch' }] as unknown as OpenAI.Responses.Tool[];
    const url = `${site.url}/article`;
    const stream = openai.responses.stream({ model: model === 'native' ? 'chat' : model, input: reading(url), tools });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const response = await stream.finalResponse();
    for (const step of ['in_progress', 'completed']) assert.ok(types.includes(`response.web_search_call.${step}`));
    const [call, message] = response.output;
    assert.ok(call?.type === 'web_search_call' && message?.type === 'message');
    assert.deepEqual([call.action, call.status], [{ type: 'open_page', url }, 'completed']);
    const [part] = message.content;
    const [cited] = part?.type === 'output_text' ? part.annotations : [];
    assert.equal(cited?.type === 'url_citation' && cited.url, url);
  });
}

test('chat completions read a page too', async () => {
  const path = paths.chat;
  upstream.script(path, ['ok', 'text=Words【1】.']);
  const url = `${site.url}/article`;
  const tools = [{ type: 'web_fetch' }] as never;
  const messages = [{ role: 'user' as const, content: reading(url) }];
  const answer = await openai.chat.completions.create({ model: 'chat', messages, tools });
  assert.equal(answer.choices[0]!.message.annotations?.[0]?.url_citation.url, url);
});

test('the request says how much, how often, and from where', async () => {
  const url = `${site.url}/article`;
  const { result } = await fetched(asked('chat', url, { max_content_tokens: 5 }));
  assert.ok(result.type === 'web_fetch_result' && result.content.source.type === 'text');
  assert.equal(result.content.source.data.length, 20);
  for (const tool of [
    { allowed_domains: ['other.example'] },
    { blocked_domains: [new URL(url).hostname] },
    // No domain at all, so it allows nothing.
    { allowed_domains: ['a b'] },
  ]) {
    const { result: error, told } = await fetched(asked('chat', url, tool));
    assert.deepEqual(error, { type: 'web_fetch_tool_result_error', error_code: 'url_not_allowed' });
    assert.match(told, /does not allow this domain/);
  }
  // With a dot at its end a host is the same one, and a path may have a wildcard.
  for (const [address, domain] of [
    ['https://example.com./', 'example.com'],
    ['https://example.com/', 'example.com.'],
    ['https://example.com/', 'example.com/*'],
    ['https://example.com/a/secret/b', 'example.com/*/secret'],
  ] as const) {
    const { told } = await fetched(asked('chat', address, { blocked_domains: [domain] }));
    assert.match(told, /does not allow this domain/, domain);
  }
  for (const [path, code] of [
    ['/arti*', undefined],
    ['/*/other', 'url_not_allowed'],
    ['/*tic', 'url_not_allowed'],
    ['/a*cle', undefined],
  ] as const) {
    const { result } = await fetched(asked('chat', url, { allowed_domains: [`${new URL(url).host}${path}`] }));
    assert.equal(result.type === 'web_fetch_result' ? undefined : result.error_code, code, path);
  }
  const within = await fetched(asked('chat', url, { allowed_domains: [`${new URL(url).host}/article`] }));
  assert.equal(within.result.type, 'web_fetch_result');
  const both = asked('chat', url, { allowed_domains: ['a.example'], blocked_domains: ['b.example'] });
  await assert.rejects(anthropic.messages.create(both), /blocked_domains.*exclude each other/);
});

test('a redirect leads nowhere that the request does not allow, not even from the cache', async () => {
  const start = `${site.url}/moved`;
  const host = new URL(site.url).host;
  await gateway.fetch('/v1/tools/scrape', { json: { url: start } });
  const { result, told } = await fetched(asked('chat', start, { allowed_domains: [`${host}/moved`] }));
  assert.deepEqual(result, { type: 'web_fetch_tool_result_error', error_code: 'url_not_allowed' });
  assert.ok(!told.includes(words));
});

test('a page that cannot be read is an error in Anthropic’s word, and the model hears why', async () => {
  const codes = { '/404': 'url_not_accessible', '/picture': 'unsupported_content_type', '/loop': 'url_not_allowed' };
  for (const [path, code] of Object.entries(codes)) {
    const { result, told } = await fetched(asked('chat', site.url + path));
    assert.deepEqual(result, { type: 'web_fetch_tool_result_error', error_code: code }, path);
    assert.match(told, /The page was not read/);
  }
  const { result } = await fetched(asked('chat', 'http://169.254.169.254/latest/meta-data'));
  assert.deepEqual(result, { type: 'web_fetch_tool_result_error', error_code: 'url_not_allowed' });
});

test('the model reads no address that nobody named', async () => {
  const params = asked('chat', '');
  const { result, input } = await fetched(params);
  assert.deepEqual(input, { url: 'https://example.com/' });
  assert.deepEqual(result, { type: 'web_fetch_tool_result_error', error_code: 'url_not_in_prior_context' });
  const url = `${site.url}/article`;
  const none = { url_sources: { user_input: { type: 'none' as const } } };
  const { result: refused } = await fetched(asked('chat', url, none));
  assert.deepEqual(refused, { type: 'web_fetch_tool_result_error', error_code: 'url_not_in_prior_context' });
});

test('it reads what a search found', async (context) => {
  context.after(() => {
    engine.says = () => searxngSays('https://a.example/one', 'https://b.example/two');
  });
  engine.says = () => searxngSays('https://example.com/');
  const messages = [{ role: 'user' as const, content: 'Please call web_search' }];
  const search: Anthropic.WebSearchTool20250305 = { type: 'web_search_20250305', name: 'web_search' };
  const tools = [search, fetching];
  const first = await anthropic.messages.create({ model: 'chat', max_tokens: 500, messages, tools });
  // What was found in an earlier answer is known as well. Nothing is there: the fetch is made, and fails.
  const next = [
    ...messages,
    { role: 'assistant' as const, content: first.content },
    { role: 'user' as const, content: 'Please call web_fetch' },
  ];
  const { content } = await anthropic.messages.create({ model: 'chat', max_tokens: 500, messages: next, tools });
  const [, result] = content;
  assert.ok(result?.type === 'web_fetch_tool_result' && result.content.type === 'web_fetch_tool_result_error');
  assert.notEqual(result.content.error_code, 'url_not_in_prior_context');
});

test('a further call than max_uses allows is an error, and the model hears it', async () => {
  const params = asked('chat', `${site.url}/article`, { max_uses: 1 });
  upstream.script(paths.chat, ['call=web_fetch', 'call=web_fetch', 'text=Done.']);
  const { content, usage } = await anthropic.messages.create(params);
  const results = content.flatMap((block) => (block.type === 'web_fetch_tool_result' ? [block.content] : []));
  assert.deepEqual(
    results.map((one) => (one.type === 'web_fetch_result' ? one.type : one.error_code)),
    ['web_fetch_result', 'max_uses_exceeded'],
  );
  assert.equal(content.at(-1)?.type, 'text');
  assert.equal(usage.server_tool_use?.web_fetch_requests, 1);
});

test('a page is a row of its own and costs what a scrape costs', async () => {
  const before = new Set((await rows()).map(({ id }) => id));
  const answer = await gateway.fetch('/v1/messages', { json: asked('chat', `${site.url}/article`) });
  assert.equal(answer.headers.get('x-culvert-cost'), '3');
  const made = (await rows()).filter(({ id }) => !before.has(id));
  assert.deepEqual(made.map(({ endpoint }) => endpoint).toSorted(), ['messages', 'messages', 'scrape']);
});

test('a demanded fetch is made, in every format', async () => {
  const url = `${site.url}/article`;
  const params = asked('chat', url);
  const message = await anthropic.messages.create({ ...params, tool_choice: { type: 'tool', name: 'web_fetch' } });
  assert.equal(message.content[0]?.type, 'server_tool_use');
  const choice = { type: 'web_fetch' } as never;
  const tools = [{ type: 'web_fetch' }] as never;
  const input = `Read ${url}`;
  const response = await openai.responses.create({ model: 'native', input, tools, tool_choice: choice });
  assert.equal(response.output[0]?.type, 'web_search_call');
});

test('Anthropic runs it itself; OpenAI does not know it', async (context) => {
  const { gateway: own, upstream: provider } = await openToolsWorld(context, { fetch: config.fetch });
  const at = { base_url: `${provider.url}/v1`, api_key: 'k' };
  await own.reload({
    providers: {
      claude: { type: 'anthropic', ...at },
      native: { type: 'openai', ...at, dialects: ['openai-chat', 'openai-responses'] },
    },
    models: { claude: { targets: ['claude/mock/ok'] }, native: { targets: ['native/mock/ok'] } },
  });
  const params = asked('claude', `${site.url}/article`, { max_uses: 2 });
  assert.equal((await own.fetch('/v1/messages', { json: params })).status, 200);
  assert.deepEqual((provider.requests().at(-1)!.body as { tools: unknown }).tools, params.tools);
  provider.clear();
  const input = reading(`${site.url}/article`);
  const json = { model: 'native', input, tools: [{ type: 'web_fetch' }] };
  assert.equal((await own.fetch('/v1/responses', { json })).status, 200);
  const posts = provider.requests().filter(({ method }) => method === 'POST');
  assert.equal(posts.length, 2);
  assert.match(JSON.stringify(posts[0]!.body), /"name":"web_fetch"/);
});
