// What the core is asked about timelines, names and the books that nothing refers to, and what it answers.

import type { BookReference, Finding, Origin, OurBook, ShownFamily, ShownTimeline } from '../types.js';

/** A chat by its header; `null` if that cannot be read. */
export interface NamedChat {
    name: string;
    metadata: ST.Metadata | null;
}

export interface CountedChat extends NamedChat {
    /** How many. */
    messages: number;
}

/** What an index keeps of a chat: the part of its metadata that describes the timeline, and the findings about the rest. */
export interface IndexRecord {
    metadata: ST.Metadata | null;
    own: Finding[];
}

/** A timeline in the index. */
export interface TimelineRecord extends CountedChat, IndexRecord {
    /** The start of the last message, and when it was sent, in milliseconds. */
    preview: string;
    date: number | null;
    /** When this state was first seen. */
    seenAt: number;
}

export interface TimelinesAsk {
    group: string | null;
    character: string | null;
    /** The name of the open one. */
    open: string;
    names: string[];
    /** In the order of the names; `null` if a header was not read yet. */
    records: (TimelineRecord | null)[];
    /** The books that exist, with the number of entries of those that the page has loaded. */
    known: { name: string; entries: number | null }[];
}

export interface TimelinesAnswer {
    timelines: Omit<ShownTimeline, 'label' | 'differs'>[];
    families: ShownFamily[];
}

export interface BookFateAsk {
    /** The timeline to be deleted. */
    name: string;
    records: NamedChat[];
    books: { name: string; extensions: Record<string, unknown> }[];
    references: BookReference[];
    cleanUp: boolean;
}

export interface SealedOrigin extends Omit<Origin, 'message' | 'made'> {
    message: number;
    made: string;
    /** The parent's book, if there is no copy of it. */
    leftOut: string | null;
}

/** A book that a chat names: it is bound to it, or a memory extension writes there. */
export interface NamedBook {
    book: string;
    place: 'chat' | 'memories' | 'recap';
}

export interface BooksNamed {
    references: NamedBook[];
    /** The books that belong to the chat. */
    own: string[];
    /** Whether the messages cannot name any more. */
    isComplete: boolean;
}

export interface CleanupAsk {
    ours: OurBook[];
    references: (BookReference | (NamedBook & { name: string; owner: string }))[];
    /** Chats, characters and groups that could not be read. */
    unread: string[];
}

export interface ChatsNamingAsk {
    /** The old name of the renamed chat. */
    from: string;
    metadata: ST.Metadata | null;
    others: NamedChat[];
}

/** The keys that lead to a name from a chat's `{metadata, messages}` on. */
export type NamePath = (string | number)[];
