/** One event of an answer, as long as a chunk of a chat is. */
export const event = `data: ${'x'.repeat(180)}\n\n`;
/** Two seconds at fifty a second: a short answer of a fast model. */
export const eventsOfAStream = 100;
export const eventEveryMs = 20;
/** A short chat. */
export const wholeAnswer = 'x'.repeat(800);
export const requestBody = 'y'.repeat(1_000);
