import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createTestServer } from './start-mcp-server.ts';

/* The MCP server of the tests as a program: `node test/mcp-stdio-server.ts TOOL…`. */
await createTestServer(process.argv.slice(2)).connect(new StdioServerTransport());
