/** A start that cannot go on; its message is a sentence that says what to do. */
export class StartRefused extends Error {}
