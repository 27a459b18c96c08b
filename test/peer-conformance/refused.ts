/** What the caller of the command can put right. */
export class Refused extends Error {}
