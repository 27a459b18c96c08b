/**
 * Who may import whom (design §4). A room's own imports count too: what it may import, its importers may as well.
 * `typesOnly` rooms may be imported with `import type` alone.
 */
export interface Room {
  path: string;
  mayImport: readonly string[];
  typesOnly?: readonly string[];
}

export const rooms: readonly Room[] = [
  { path: 'src/kernel', mayImport: [] },
  { path: 'src/net', mayImport: ['src/kernel'] },
  { path: 'src/config', mayImport: ['src/inference/providers'] },
  { path: 'src/observe', mayImport: ['src/kernel'] },
  { path: 'src/auth', mayImport: ['src/config'] },
  { path: 'src/ledger', mayImport: ['src/inference/neutral'] },
  { path: 'src/metering', mayImport: ['src/auth', 'src/ledger'] },
  { path: 'src/inference/neutral', mayImport: ['src/kernel'] },
  { path: 'src/inference/dialects', mayImport: ['src/inference/neutral'] },
  {
    path: 'src/inference/providers',
    mayImport: ['src/inference/dialects'],
    typesOnly: ['src/inference/transport'],
  },
  { path: 'src/inference/audio', mayImport: ['src/kernel'] },
  { path: 'src/inference/engines', mayImport: ['src/inference/neutral', 'src/inference/audio'] },
  { path: 'src/inference/transport', mayImport: ['src/kernel'] },
  { path: 'src/inference/routing', mayImport: ['src/inference/neutral'], typesOnly: ['src/inference/dialects'] },
  { path: 'src/inference/credentials', mayImport: ['src/inference/transport'] },
  {
    path: 'src/inference/models',
    mayImport: [
      'src/inference/credentials',
      'src/inference/providers',
      'src/inference/engines',
      'src/inference/transport',
      'src/inference/routing',
      'src/metering',
      'src/net',
    ],
  },
  { path: 'src/inference/spine', mayImport: ['src/inference/models'] },
  { path: 'src/inference/server-tools', mayImport: ['src/inference/spine'] },
  // Families never import each other: what two of them need is the spine's.
  { path: 'src/inference/chat', mayImport: ['src/inference/server-tools'] },
  // The keeper of conversations is made from them.
  { path: 'src/inference/responses', mayImport: ['src/inference/chat'] },
  { path: 'src/inference/embeddings', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/speech', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/transcription', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/images', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/videos', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/forwarded', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/passthrough', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/realtime', mayImport: ['src/inference/spine'] },
  // Calls of the web tools and of the vector store, which ask models too.
  { path: 'src/inference/pages', mayImport: ['src/inference/chat', 'src/tools'] },
  { path: 'src/inference/search', mayImport: ['src/inference/pages'] },
  {
    path: 'src/inference/vectors',
    mayImport: [
      'src/inference/embeddings',
      'src/inference/forwarded',
      'src/inference/server-tools',
      'src/vectors',
      'src/tools',
    ],
  },
  {
    path: 'src/inference/endpoints',
    mayImport: [
      'src/inference/chat',
      'src/inference/realtime',
      'src/inference/responses',
      'src/inference/embeddings',
      'src/inference/speech',
      'src/inference/transcription',
      'src/inference/images',
      'src/inference/videos',
      'src/inference/forwarded',
    ],
  },
  { path: 'src/mcp', mayImport: ['src/inference/server-tools', 'src/tools'] },
  // A line of a batch is a request of any family.
  { path: 'src/inference/batches', mayImport: ['src/inference/endpoints'] },
  { path: 'src/vectors', mayImport: ['src/net', 'src/inference/transport'] },
  { path: 'src/tools', mayImport: ['src/net', 'src/inference/routing', 'src/inference/transport'] },
  { path: 'src/simulator', mayImport: ['src/inference/dialects'] },
  {
    path: 'src/stores',
    mayImport: ['src/kernel', 'src/ledger'],
    typesOnly: ['src/auth', 'src/metering', 'src/vectors', 'src/tools'],
  },
  { path: 'src/admin', mayImport: ['src/inference/endpoints'], typesOnly: ['src/vectors', 'src/tools', 'src/mcp'] },
  {
    path: 'src/http',
    mayImport: [
      'src/inference/endpoints',
      'src/inference/batches',
      'src/inference/search',
      'src/inference/vectors',
      'src/inference/passthrough',
      'src/mcp',
    ],
    typesOnly: ['src/admin'],
  },
  { path: 'src/cli', mayImport: ['src/http', 'src/stores'], typesOnly: ['src/admin'] },
];

/** The composition root and its folder know every room; no room imports them. */
export const compositionRoot = 'src/main.ts';
export const compositionFolder = 'src/main/';
