/**
 * Our imports from node:http. Importing it as a module loads all its exports, `WebSocket` among them, for which Node
 * loads its own undici: 15 ms of every start.
 */
export const { createServer, request, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
