import type { Failure } from '../kernel/failure.ts';
import { createBodyMemory } from './body-memory.ts';

/** Bytes of bodies and answers that are on their way in the whole process, and of one tenant; further calls get 503. */
export interface FlightBounds {
  bytesMax: number;
  tenantBytesMax: number;
}

const flightBounds: FlightBounds = { bytesMax: 512 * 1024 * 1024, tenantBytesMax: 256 * 1024 * 1024 };

/** The memory of one call, from the first byte of its body to the last of its answer. */
export interface CallMemory {
  /** Room for so many more bytes of its body; a Failure (503) when there is none. */
  take(bytes: number): Failure | null;
  /** For a body whose bytes were taken; may hold what another left there. Once. */
  memory(bytes: number): Buffer;
  /** The body was read, or will not be: its memory is another's from here on. Its bytes count until `end`. */
  bodyRead(): void;
  /** An answer was made, which stands in memory until it is sent. */
  answered(bytes: number): void;
  /** Gives everything back. */
  end(): void;
}

export interface CallsInFlight {
  begin(tenant: string): CallMemory;
}

export function createCallsInFlight({ bytesMax, tenantBytesMax }: FlightBounds = flightBounds): CallsInFlight {
  const bodies = createBodyMemory();
  /** Only tenants that have any. */
  const ofTenant = new Map<string, number>();
  let allBytes = 0;

  function add(tenant: string, bytes: number): void {
    allBytes += bytes;
    const left = (ofTenant.get(tenant) ?? 0) + bytes;
    if (left > 0) ofTenant.set(tenant, left);
    else ofTenant.delete(tenant);
  }

  function begin(tenant: string): CallMemory {
    let mine = 0;
    let body: SharedArrayBuffer | null = null;

    function bodyRead(): void {
      if (body !== null) bodies.give(body);
      body = null;
    }

    return {
      take(bytes) {
        if (allBytes + bytes > bytesMax) return tooMuch('all callers', bytesMax);
        if ((ofTenant.get(tenant) ?? 0) + bytes > tenantBytesMax) return tooMuch('this key', tenantBytesMax);
        mine += bytes;
        add(tenant, bytes);
        return null;
      },
      memory(bytes) {
        body = bodies.take(bytes);
        return Buffer.from(body, 0, bytes);
      },
      bodyRead,
      answered(bytes) {
        mine += bytes;
        add(tenant, bytes);
      },
      end() {
        bodyRead();
        add(tenant, -mine);
        mine = 0;
      },
    };
  }

  return { begin };
}

function tooMuch(whose: string, bytesMax: number): Failure {
  const message = `Vector calls of ${whose} have as many bytes on their way as they may (${bytesMax}). Retry shortly, or send fewer at once.`;
  return { kind: 'overloaded', message };
}
