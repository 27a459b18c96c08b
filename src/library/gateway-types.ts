/*
 * Types of `culvert-gateway`. The package ships this file as it is, so it imports only the configuration's type and
 * Node's own.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CulvertConfig } from './config-input.ts';

export type { CulvertConfig };

export interface GatewayOptions {
  /**
   * The configuration, or the path of a `culvert.yaml`. `${NAME}` works in both. Default: no configuration, with the
   * providers whose keys are in `env`.
   */
  config?: CulvertConfig | string;
  /** Variables for references and providers' keys. Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Paths that begin so lose it before they are looked up: `/ai` where the gateway serves `/ai/v1/…`. */
  basePath?: string;
  /**
   * Takes each line of the log, as JSON. `stdout` writes it as a server does, `off` nowhere. `telemetry.log.level` says
   * how much. Default: `stdout`.
   */
  log?: 'stdout' | 'off' | ((line: string) => void);
}

/** Caller of a request that a framework hands over. */
export interface FetchContext {
  /** Address of the caller. Without it, keys that are bound to addresses open nothing. */
  address?: string | undefined;
  /** Node's request, as `@hono/node-server` gives it: its address counts. */
  incoming?: { socket: { remoteAddress?: string | undefined } } | undefined;
}

/** The parts of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: string, parser: (request: never, payload: never, done: FastifyDone) => void): unknown;
  route(options: {
    method: string[];
    url: string;
    exposeHeadRoute: boolean;
    handler(request: FastifyRequestParts, reply: FastifyReplyParts): void;
  }): unknown;
}

type FastifyDone = (error: Error | null, body?: unknown) => void;

export interface FastifyRequestParts {
  raw: IncomingMessage;
}

export interface FastifyReplyParts {
  raw: ServerResponse;
  hijack(): unknown;
}

type RouteHandler = (request: Request) => Promise<Response>;

/** A gateway inside an application. It starts with its first request, or by `start`. */
export interface Gateway {
  /**
   * Opens stores and connections. Rejects with a `GatewayError` for what the configuration or the machine has wrong; a
   * later call tries again. It touches no signal handler, never ends the process, and listens nowhere.
   */
  start(): Promise<void>;
  /** Answers a request of `node:http`, Express or Connect, whose body nobody has read. */
  handler: (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void;
  /** For the event `upgrade` of your server: WebSockets of realtime sessions and responses. */
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Answers a `Request` inside this process: for Hono, Next, and as the `fetch` of an SDK. The second argument is that
   * of `fetch`, or what Hono passes.
   */
  fetch: (input: Request | URL | string, init?: RequestInit | FetchContext | object) => Promise<Response>;
  /** A plugin: `fastify.register(gateway.fastify, { prefix: '/ai' })`. Its prefix is taken off as `basePath` is. */
  fastify: (instance: FastifyScope) => Promise<void>;
  /** Route handlers: `export const { GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS } = gateway.next`. */
  next: Readonly<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS', RouteHandler>>;
  /** Opens a port as well, by default that of the configuration. */
  listen(at?: { host?: string; port?: number }): Promise<{ url: string }>;
  /** Takes another configuration into use; running requests end on the one before. Default: the same again. */
  reload(config?: CulvertConfig | string): Promise<void>;
  /** Gives running requests `graceMs` (default: 10,000), settles and closes everything. It cannot start again. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Content of a `GatewayError` in addition to its message. */
export interface GatewayProblem {
  /** Place in the configuration, such as `providers.openai.api_key`; '' where it has none. */
  path: string;
  message: string;
}
