// The shapes that several parts of the extension share.

// Values from outside are unknown until somebody says what they are; the standard library would let them pass as anything.
declare global {
    interface JSON {
        parse(text: string): unknown;
    }

    interface ObjectConstructor {
        entries<T>(object: Record<string, T> | ArrayLike<T>): [string, T][];
        entries(object: object): [string, unknown][];
        values<T>(object: Record<string, T> | ArrayLike<T>): T[];
        values(object: object): unknown[];
    }

    interface Body {
        json(): Promise<unknown>;
    }

    interface Promise<T> {
        catch<Other = never>(onRejected: (error: unknown) => Other | PromiseLike<Other>): Promise<T | Other>;
    }

    /** What Forklore and other extensions add to SillyTavern's data. */
    namespace ST {
        interface Message {
            forklore?: object;
        }

        interface Metadata {
            forklore?: Seal;
            STMemoryBooks?: { manualLorebook?: string };
        }

        interface ExtensionSettings {
            forklore?: Partial<Settings>;
            STMemoryBooks?: { moduleSettings?: { manualModeEnabled?: boolean } };
            /** ST-Auto-Recap's; some of its settings are kept by the name of the chat. */
            auto_recap_memory?: Record<string, Record<string, unknown> | undefined>;
        }
    }
}

// SillyTavern as the rest of Forklore sees it.

export type Host = typeof import('./sillytavern/host.js');
export type Core = typeof import('./core/core.js').core;
export type TavernScreen = typeof import('./sillytavern/screen.js');

/** A character or a group; the other one is null. */
export interface Owner {
    group: string | null;
    avatar: string | null;
}

export interface OpenChat extends Owner {
    name: string;
    messages: ST.Message[];
    metadata: ST.Metadata;
    book: string | null;
    integrity: string | null;
}

/** What is known of a chat without its messages. */
export interface Head extends Owner {
    name: string;
    /** How many. */
    messages: number;
    /** Missing if the header cannot be read. */
    metadata?: ST.Metadata;
    /** The last message, and when it was sent, in milliseconds. */
    preview: string;
    date: number | null;
}

/** A place other than a chat that refers to a book. */
export interface BookReference {
    book: string;
    place: 'global' | 'character' | 'persona' | 'card';
    name: string;
}

export interface Settings {
    isolate: boolean;
    requireScene: boolean;
    whenInexact: 'ask' | 'nearest' | 'refuse';
    whenBusy: 'wait' | 'drain' | 'without';
    waitSeconds: number;
    autoName: boolean;
    nameTemplate: string;
    checkpointAtScenes: boolean;
    warnings: boolean;
    journal: boolean;
    journalLimit: number;
    cleanUp: boolean;
    guard: boolean;
    /** Avatars of characters that were deleted without their chats. */
    leftBehind?: string[];
}

// What the core says.

/** A message of the core: a code, and what to fill in. */
export interface Word {
    code: string;
    values?: Record<string, unknown>;
}

export interface Finding extends Word {
    problem: boolean;
}

/** An error that can be shown in the user's language. */
export interface WordError extends Error {
    word: Word;
}

/** How well something is known. */
export interface Part {
    exactness: 'exact' | 'snapshot' | 'settled' | 'live';
    source?: 'files' | 'unchanged' | 'journal' | 'history' | 'recap' | 'chosen';
    as_of?: number;
    settled_at?: number;
    /** Whether it was last seen at the very message. */
    here?: boolean;
}

/** What Forklore writes into a child's metadata. Files may hold anything, so nothing of it is certain. */
export interface Seal {
    kind?: string;
    made?: string;
    parent?: { chat?: string; message?: number };
    book?: Partial<Part> & { name?: string; from?: string; entries?: number };
    running_recap?: { version?: number; scenes?: number };
    combined_recap?: { messages?: number };
}

// The screen.

export type ToastKind = 'success' | 'info' | 'warning' | 'error';
export type ToastContent = string | Node | Array<string | Node>;

export interface ToastOptions {
    title?: string;
    buttons?: { text: string; run: () => void }[];
    sticky?: boolean;
    closeLabel?: string;
}

export interface PopupOptions<Value> {
    wide?: boolean;
    large?: boolean;
    /** No button without a text. */
    okText?: string | null;
    cancelText?: string | null;
    /** Before OK. */
    buttons?: { text: string; value: Value; icon?: string; title?: string; disabled?: boolean }[];
    /** The button that Enter presses initially. */
    focus?: 'ok' | 'cancel';
    /** Called before it closes with a value other than null. */
    mayClose?: (value: Value | 'ok') => boolean;
    /** An additional class. */
    look?: string;
}

export type ForkKind = 'checkpoint' | 'branch';

/** An item of one of SillyTavern's menus. */
export interface MenuItem {
    id: string;
    icon: string;
    text: string;
    run: () => void;
}

/** What a slash command was given by name. */
export type NamedValues = Record<string, string | undefined>;

export interface Argument {
    /** Of a named argument. */
    name?: string;
    description: string;
    /** `message`: one of the open chat's messages. */
    type: 'string' | 'number' | 'bool' | 'message';
    /** The allowed values. */
    values?: string[];
    byDefault?: string;
    isRequired?: boolean;
}

export interface Command {
    name: string;
    help: string;
    exampleTitle: string;
    examples: { code: string; text: string }[];
    returns: string;
    named: Argument[];
    unnamed: Argument[];
    run: (named: NamedValues, unnamed: string) => Promise<string>;
}

/** One of SillyTavern's own commands that asks first whether it may run. */
export interface GuardedCommand {
    name: string;
    mayRun: (named: Record<string, unknown>, unnamed: unknown) => boolean;
}
