import type { Dispatcher } from 'undici';

/** An exchange's side of undici's calls. */
export type ExchangeHandler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onBodySent' | 'onResponseStarted' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd'
  >
> & { onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void };

/** Reason for resetting a stream whose exchange is over: nobody reads it. */
export const givenUp = new Error('given up');

/**
 * A handler's place on a shared connection. Undici lets a request wait while the peer accepts no more streams, and
 * cannot call it back: its handler leaves, and the request is given up when its turn comes.
 */
export class Seat implements ExchangeHandler {
  /** The request has its stream, or was refused. */
  isTaken = false;
  private handler: ExchangeHandler | null;

  constructor(handler: ExchangeHandler) {
    this.handler = handler;
  }

  leave(): void {
    this.handler = null;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.isTaken = true;
    if (this.handler === null) controller.abort(givenUp);
    else this.handler.onRequestStart(controller, context);
  }

  onBodySent(chunk: Buffer): void {
    this.handler?.onBodySent(chunk);
  }

  onResponseStarted(): void {
    this.handler?.onResponseStarted();
  }

  onResponseStart(...args: Parameters<ExchangeHandler['onResponseStart']>): void {
    this.handler?.onResponseStart(...args);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.handler?.onResponseData(controller, chunk);
  }

  onResponseEnd(...args: Parameters<ExchangeHandler['onResponseEnd']>): void {
    this.handler?.onResponseEnd(...args);
  }

  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void {
    this.isTaken = true;
    this.handler?.onResponseError(controller, error);
  }
}
