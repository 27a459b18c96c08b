import { z } from 'zod';

const tag = z
  .string()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._@/:-]{0,63}$/u, 'expected 1 to 64 letters, digits, spaces or ._@/:-');

/** Tags of a key: names such as a team or a project, by which people find keys and sum their usage. */
export const keyTags = () =>
  z
    .array(tag)
    .max(20)
    .transform((tags) => [...new Set(tags)])
    .optional();
