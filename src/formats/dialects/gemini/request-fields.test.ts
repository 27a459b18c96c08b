import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lostMembers } from './request-fields.ts';

test('what the neutral form has no place for is listed once, by its path', () => {
  const losses = lostMembers({
    contents: [
      {
        role: 'user',
        parts: [{ text: 'a' }, { inlineData: { mimeType: 'video/mp4', data: '' }, videoMetadata: { fps: 2 } }],
      },
      {
        role: 'user',
        parts: [{ fileData: { fileUri: 'https://a/b' }, videoMetadata: { fps: 1 } }, { executableCode: {} }],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'a', response: {}, scheduling: 'SILENT' } }] },
    ],
    generationConfig: { temperature: 1, mediaResolution: 'LOW', speechConfig: null },
    tools: [{ functionDeclarations: [{ name: 'a', behavior: 'NON_BLOCKING' }] }],
    toolConfig: {
      functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['a', 'b'] },
      retrievalConfig: { languageCode: 'de' },
    },
  });
  assert.deepEqual(
    losses.map(({ field }) => field),
    [
      'generationConfig.mediaResolution',
      'toolConfig.retrievalConfig',
      'toolConfig.functionCallingConfig.allowedFunctionNames',
      'tools.functionDeclarations.behavior',
      'contents.parts.videoMetadata',
      'contents.parts.functionResponse.scheduling',
    ],
  );
  const plain = { contents: [{ role: 'user', parts: [{ text: 'a' }] }], generationConfig: { topK: 1 } };
  assert.deepEqual(lostMembers(plain), []);
});
