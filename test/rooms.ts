/**
 * A room and its imports (design §4). The imports of a room count too: what it may import, its importers may as well.
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
  // Conditions over the facts of a request, as functions.
  { path: 'src/rules', mayImport: ['src/kernel'] },
  { path: 'src/config', mayImport: ['src/formats/providers', 'src/guards', 'src/hooks', 'src/rules'] },
  { path: 'src/observe', mayImport: ['src/kernel'] },
  { path: 'src/guards', mayImport: ['src/kernel'] },
  { path: 'src/hooks', mayImport: ['src/kernel'] },
  { path: 'src/books/auth', mayImport: ['src/config'] },
  { path: 'src/books/ledger', mayImport: ['src/formats/neutral'] },
  { path: 'src/books/metering', mayImport: ['src/books/auth', 'src/books/ledger', 'src/net'] },
  { path: 'src/formats/neutral', mayImport: ['src/kernel'] },
  { path: 'src/formats/dialects', mayImport: ['src/formats/neutral'] },
  // Formats of pictures, sound, videos and spoken sessions.
  { path: 'src/formats/media', mayImport: ['src/formats/dialects'] },
  // Formats of texts that become vectors.
  { path: 'src/formats/embeddings', mayImport: ['src/formats/dialects'] },
  {
    path: 'src/formats/providers',
    mayImport: ['src/formats/media', 'src/formats/embeddings'],
    typesOnly: ['src/upstream/transport'],
  },
  { path: 'src/engines/audio', mayImport: ['src/kernel'] },
  { path: 'src/engines', mayImport: ['src/formats/neutral', 'src/engines/audio'] },
  { path: 'src/upstream/transport', mayImport: ['src/kernel'] },
  {
    path: 'src/routing',
    mayImport: ['src/formats/neutral'],
    typesOnly: ['src/formats/dialects', 'src/formats/media'],
  },
  { path: 'src/upstream/credentials', mayImport: ['src/upstream/transport'] },
  {
    path: 'src/inference/models',
    mayImport: [
      'src/upstream/credentials',
      'src/formats/providers',
      'src/engines',
      'src/upstream/transport',
      'src/routing',
      'src/books/metering',
      'src/net',
    ],
  },
  { path: 'src/inference/spine', mayImport: ['src/inference/models'] },
  { path: 'src/inference/cache', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/guards', mayImport: ['src/inference/models', 'src/guards'] },
  { path: 'src/inference/hooks', mayImport: ['src/inference/models', 'src/hooks', 'src/observe'] },
  { path: 'src/inference/server-tools', mayImport: ['src/inference/spine'] },
  // Families never import each other: what two of them need is the spine's.
  { path: 'src/inference/families/chat', mayImport: ['src/inference/server-tools'] },
  // The keeper of conversations is made from them.
  { path: 'src/inference/families/responses', mayImport: ['src/inference/families/chat'] },
  { path: 'src/inference/families/embeddings', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/families/speech', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/families/transcription', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/families/images', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/families/videos', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/families/forwarded', mayImport: ['src/inference/spine'] },
  { path: 'src/inference/families/passthrough', mayImport: ['src/inference/spine'] },
  {
    path: 'src/inference/families/provider-objects',
    mayImport: ['src/inference/families/passthrough', 'src/inference/families/chat', 'src/inference/batches'],
  },
  { path: 'src/inference/families/realtime', mayImport: ['src/inference/spine'] },
  // Calls of the web tools and of the vector store, which ask models too.
  { path: 'src/inference/families/pages', mayImport: ['src/inference/families/chat', 'src/tools'] },
  { path: 'src/inference/families/search', mayImport: ['src/inference/families/pages'] },
  {
    path: 'src/inference/families/vectors',
    mayImport: [
      'src/inference/families/embeddings',
      'src/inference/families/forwarded',
      'src/inference/server-tools',
      'src/vectors',
      'src/tools',
    ],
  },
  { path: 'src/inference/families/mcp', mayImport: ['src/inference/server-tools', 'src/tools/mcp'] },
  { path: 'src/inference/families/a2a', mayImport: ['src/inference/spine', 'src/tools/a2a'] },
  {
    path: 'src/inference/endpoints',
    mayImport: [
      'src/inference/families/chat',
      'src/inference/families/realtime',
      'src/inference/families/responses',
      'src/inference/families/embeddings',
      'src/inference/families/speech',
      'src/inference/families/transcription',
      'src/inference/families/images',
      'src/inference/families/videos',
      'src/inference/families/forwarded',
      'src/inference/families/vectors',
      'src/inference/guards',
    ],
  },
  // A line of a batch is a request of any family.
  { path: 'src/inference/batches', mayImport: ['src/inference/endpoints'] },
  // Files of callers, read into collections.
  {
    path: 'src/inference/vector-stores',
    mayImport: ['src/inference/families/vectors', 'src/inference/batches', 'src/vectors', 'src/tools'],
  },
  // Columns of all that one secret seals.
  { path: 'src/inference/sealed', mayImport: ['src/inference/vector-stores'] },
  { path: 'src/vectors', mayImport: ['src/net', 'src/upstream/transport'] },
  // What a server says in an error is shown without credentials, as a provider's is.
  { path: 'src/tools/mcp', mayImport: ['src/tools', 'src/books/auth', 'src/formats/providers'] },
  // Health checks, and following of the configuration.
  { path: 'src/tools/a2a', mayImport: ['src/tools/mcp'] },
  { path: 'src/tools', mayImport: ['src/net', 'src/routing', 'src/upstream/transport'] },
  { path: 'src/simulator', mayImport: ['src/formats/media', 'src/engines/audio'] },
  {
    path: 'src/stores',
    mayImport: ['src/kernel', 'src/books/ledger'],
    typesOnly: ['src/books/auth', 'src/books/metering', 'src/vectors', 'src/tools'],
  },
  {
    path: 'src/admin',
    mayImport: ['src/inference/endpoints', 'src/inference/guards'],
    typesOnly: ['src/vectors', 'src/tools', 'src/tools/mcp', 'src/tools/a2a'],
  },
  {
    path: 'src/http',
    mayImport: [
      'src/inference/endpoints',
      'src/inference/batches',
      'src/inference/vector-stores',
      'src/inference/families/search',
      'src/inference/families/vectors',
      'src/inference/families/passthrough',
      'src/inference/families/provider-objects',
      'src/inference/families/mcp',
      'src/inference/families/a2a',
    ],
    typesOnly: ['src/admin'],
  },
  {
    path: 'src/processes/books',
    mayImport: ['src/processes', 'src/stores', 'src/books/metering'],
    typesOnly: ['src/tools'],
  },
  { path: 'src/processes/vectors', mayImport: ['src/processes', 'src/vectors'] },
  // Types alone cross between the processes of one server.
  {
    path: 'src/processes',
    mayImport: ['src/config', 'src/observe'],
    typesOnly: ['src/admin', 'src/formats/dialects', 'src/books/metering', 'src/routing'],
  },
  // A gateway, or the formats alone, inside an application.
  { path: 'src/library', mayImport: ['src/config', 'src/formats/dialects', 'src/upstream/transport'] },
  { path: 'src/cli', mayImport: ['src/http', 'src/stores', 'src/inference/hooks'], typesOnly: ['src/admin'] },
];

/** The composition root and its folder know every room; no room imports them. */
export const compositionRoot = 'src/main.ts';
export const compositionFolder = 'src/main/';

/** The room of a file. Rooms within a room come before it in the list. */
export function roomOf(file: string): Room | undefined {
  return rooms.find(({ path }) => file.startsWith(`${path}/`));
}
