import { z } from 'zod';
import { headerRefusal } from '../reference-forms.ts';
import { orOff, pem, proxyUrl, secretOrPath } from '../scalars.ts';

/** The forward proxy that leads to `place`. */
export function proxySchema(place: string) {
  return orOff(proxyUrl(), 'a proxy such as http://proxy.internal:3128')
    .optional()
    .describe(
      `Forward proxy to ${place}, with user:password@ where it wants one; https:// addresses through CONNECT. off: none. Default: HTTPS_PROXY and HTTP_PROXY less NO_PROXY, and none to this machine.`,
    );
}

/** Headers that the operator adds to requests; their values may be secret. */
export function headersSchema(description: string) {
  return z
    .record(
      z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'expected the name of an HTTP header'),
      z
        .string()
        .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'expected a value that an HTTP header can hold')
        .check((context) => {
          const message = headerRefusal(context.value);
          if (message !== null) context.issues.push({ code: 'custom', input: context.value, message });
        }),
    )
    .default({})
    .meta({ mark: 'headers' })
    .describe(description);
}

/** The certificates of a way; `readWhen` says when their files are read. */
export function tlsSchema(readWhen: string) {
  return z
    .strictObject({
      ca: pem().optional().describe("Certificates to trust in addition to the system's."),
      cert: pem().optional().describe('Client certificate, with those between it and its root.'),
      key: secretOrPath().optional().describe('Private key of cert.'),
    })
    .optional()
    .meta({ mark: 'address' })
    .describe(`Each is PEM, or the path of a PEM file, which is read ${readWhen}.`);
}
