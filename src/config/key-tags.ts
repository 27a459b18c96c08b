import { z } from 'zod';

/** The form of a key's name, in the configuration and at the admin API. */
export const keyNameForm = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@/-]{0,63}$/u;

const tag = z
  .string()
  .regex(
    /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} ._@/:-]{0,62}[\p{L}\p{M}\p{N}._@/:-])?$/u,
    'expected 1 to 64 letters, digits, ._@/:- or spaces between them',
  );

/** Tags of a key: names such as a team or a project, by which people find keys and sum their usage. */
export const keyTags = () =>
  z
    .array(tag)
    .max(20)
    .transform((tags) => [...new Set(tags)])
    .optional();
