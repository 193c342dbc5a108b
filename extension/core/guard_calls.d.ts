// What the page tells the guard, and what the guard tells the page to do (crates/wasm/src/guard.rs).

import type { Conflict, MergeStep, Settled } from '../types.js';

/** What happened to a save, or to the check whether one is still on the server. */
export type GuardEvent =
    | { is: 'turn' | 'kept' | 'failed' | 'off' }
    | { is: 'read'; text: string }
    | { is: 'listed'; exists: boolean }
    /** `null` for "later". */
    | { is: 'answered'; settle: Settled | null }
    | { is: 'sent'; ok: boolean };

export type GuardAction =
    | { do: 'read' | 'list' | 'report'; about: null }
    | { do: 'keep'; about: Overwritten }
    | { do: 'ask'; about: Conflict[] }
    /** The book; without it, the save is sent as it is. */
    | { do: 'send'; about?: string }
    | { do: 'write'; about: string }
    /** The number of the job. */
    | { do: 'recheck'; about: number }
    /** Whether the user was just asked. */
    | { do: 'update'; about: boolean };

export interface Overwritten {
    versions: { isMine: boolean; text: string }[];
    /** Whether another device has already overwritten them. */
    isLate: boolean;
}

/** What other pages have changed in a book. */
export interface BookNews {
    book: string;
    isGone: boolean;
    entries: { title: string; what: MergeStep['what'] }[];
}

/** Books are texts, and copies are numbers. */
export interface PageGuard {
    remember(name: string, text: string): void;
    forget(name: string): void;
    wasReadTwice(name: string): boolean;
    cached(name: string, copy: number, text?: string): void;
    mayBeEdited(original: number): boolean;
    copied(original: number, copy: number, text?: string): void;
    replaced(name: string, copy: number, text: string): void;
    /** Whether the copy was made from this content of the server, as far as that is known. */
    isBasedOn(name: string, copy: number, text: string): boolean;
    release(copy: number): void;
    /** Returns the number of the job. */
    begin(name: string, copy: number | undefined, text: string): number;
    wrote(name: string, text: string): void;
    takeNews(): BookNews[];
    next(job: number, event: GuardEvent): GuardAction[];
}
