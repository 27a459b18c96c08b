/** For bodies whose fields are their vendors', and so not in the document. The reader names a model. */
export const examples: Readonly<Record<string, object>> = {
  'POST /v1/chat/completions': { model: '', messages: [{ role: 'user', content: 'Hello' }] },
  'POST /v1/messages': { model: '', max_tokens: 200, messages: [{ role: 'user', content: 'Hello' }] },
  'POST /v1/responses': { model: '', input: 'Hello' },
  'POST /v1/embeddings': { model: 'culvert-lexical-1024', input: ['Hello'] },
  'POST /v1/audio/speech': { model: '', input: 'Hello', voice: 'alloy' },
  'POST /v1/images/generations': { model: '', prompt: 'A culvert.' },
  'POST /v1/vectors/collections': { name: 'docs', embedding_model: 'culvert-lexical-1024' },
  'POST /v1/vectors/collections/{collection}/points': { points: [{ id: 1, payload: { text: 'Hello' } }] },
  'POST /v1/vectors/collections/{collection}/points/search': { text: 'Hello', limit: 5, with_payload: true },
  'POST /v1/tools/scrape': { url: 'https://example.org', formats: ['markdown'] },
  'POST /v1/tools/search': { query: 'otters', limit: 5 },
  'POST /v1/tools/map': { url: 'https://example.org' },
  'POST /v1/tools/crawl': { url: 'https://example.org', limit: 10 },
};
