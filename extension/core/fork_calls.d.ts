// What the page asks the core about forks, scenes and names, and what it answers.

import type { BookReference, ForkChoice, ForkKind, ForkQuestion, ForkReport, LoreChoice, Part, Settings, Word } from '../types.js';

/** A request that saves a chat, and the chat that is open. */
export interface SaveAsk {
    path: string;
    open: { name: string; group: boolean; integrity: string | null; book: string | null } | null;
    /** The open chat's lost book, if another one is bound in its place. */
    lost: string | null;
}

interface SavedChat {
    name: string;
    group: boolean;
    avatar: string | null;
    /** How many. */
    messages: number;
}

interface SaveOfOpen extends SavedChat {
    kind: 'open';
}

/** If it holds no chat, nothing else is known. */
interface SaveOfOther extends Partial<SavedChat> {
    kind: 'other';
}

export interface SaveOfChild extends SavedChat {
    /** A conversion makes a group chat of the open one. */
    kind: 'child' | 'conversion';
    /** Of its file. */
    stem: string | null;
    parent: string;
    isOfOpen: boolean;
    /** `null` if it is the parent's. */
    integrity: string | null;
    /** The parent's. */
    book: string | null;
    /** The other ones that Memory Books names. */
    memoryBooks: string[];
}

export type SaveAnswer = SaveOfOpen | SaveOfOther | SaveOfChild;

export interface WithoutBookAsk extends SaveAsk {
    newIntegrity: string;
    kind: ForkKind;
    now: string;
}

/** What was decided about a fork, and what has been tried; the page only passes it on. */
export type Decision = ('nearest' | 'unattended' | 'drain' | 'waited' | 'asked' | `without-${string}` | LoreChoice)[];

/** A lorebook of the character, which a fork shares if it has no other lore, and what is always wanted for it. */
export interface CharacterLore {
    book: string;
    always: LoreChoice | null;
}

type ForkSettings = Pick<Settings, 'whenInexact' | 'whenBusy' | 'requireScene'>;

export interface ForkAsk extends WithoutBookAsk {
    /** The child's title, beside its name. */
    title: string | null;
    /** The names of all books. */
    books: string[];
    /** Where else the parent's book is selected. */
    selected: BookReference[];
    /** Operations of ST-Auto-Recap that have not run yet; `null` if it is not installed. */
    underWay: number | null;
    hasMemoryBooks: boolean;
    /** The page's copy of the parent's book, if its text is not the file's. */
    pageBook: string | null;
    lore: CharacterLore | null;
    settings: ForkSettings;
    decision: Decision;
    /** The user's answer to the last question. */
    choice: ForkChoice | 'cancel' | null;
}

export interface ForkMade extends ForkReport {
    made: true;
    /** The copies of the other ones that Memory Books names. */
    memories: string[];
    /** Named, but not asked with. The child goes without them, unless the core is asked again with all of them. */
    unread: string[];
}

/** A book that was looked for; without bytes, there is none. */
export interface NamedBook {
    name: string;
    bytes: Uint8Array | undefined;
}

export interface NextStep {
    step: 'go' | 'wait' | 'ask' | 'stop';
    decision: Decision;
}

interface ForkRefused extends NextStep, Pick<ForkQuestion, 'topic' | 'choices'> {
    made: false;
    obstacles: Word[];
    remarks: Word[];
    part: Part;
}

/** With a body to send instead, and the books to write before; without a body, there is no fork yet. */
export type ForkAnswer =
    | { value: ForkMade; body: Uint8Array; book?: Uint8Array; memories?: Uint8Array[] }
    | { value: ForkRefused; body?: undefined };

export interface UnfinishedAsk {
    message: number;
    /** The last message. */
    last: number;
    isWriting: boolean;
    /** The first message up to this one that is being edited. */
    edited: number | null;
    /** Whether the child is opened at once. */
    opens: boolean;
}

export interface CheckAsk extends UnfinishedAsk {
    parent: string;
    group: boolean;
    isOpen: boolean;
    bookName: string | null;
    underWay: number | null;
    settings: ForkSettings;
    whenReady: boolean;
    lore: CharacterLore | null;
}

export interface CheckAnswer extends NextStep, Pick<ForkQuestion, 'topic' | 'choices'> {
    /** Whether the user has to decide about the character's lorebook. */
    asksForLore: boolean;
    obstacles: Word[];
    remarks: Word[];
    /** What the question is about: the book or the metadata. */
    part: Part | null;
    book: Part | null;
    metadata: Part | null;
    busy: boolean;
    operations: number;
}

/** What ST-Auto-Recap has not finished. */
export interface PendingWork {
    busy: boolean;
    /** The user paused its queue. */
    paused: boolean;
    operations: number;
}

/** A scene that has ended. */
export interface Scene {
    /** Its last one. */
    message: number;
    name: string;
    /** It has its recap, and no checkpoint yet. */
    isDue: boolean;
}

/** What the core reads of a value: all of it, parts of every element, or parts by key. */
export type Shape = true | [Shape] | { [key: string]: Shape };

export interface Shapes {
    message: Shape;
    scene: Shape;
    /** The title of the entry in which ST-Auto-Recap keeps its queue. */
    queueTitle: string;
}

export interface ChatNameAsk {
    wanted: string;
    taken: string[];
    parent: string;
    kind: ForkKind;
}
