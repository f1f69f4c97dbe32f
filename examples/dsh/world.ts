/**
 * The files that one script starts from: a project, the harness's home, and an
 * operating-system home for the child, all below one directory whose path stays the
 * same for both installs, so that no path in a transcript has to be normalized.
 */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Files by path relative to their folder; `null` makes an empty directory. */
export type Files = Record<string, string | null>

/** A directory with the few operations that scripts need. */
class Folder {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /**
   * Resolve a path inside this folder.
   * @param relative - path below the folder.
   * @returns the absolute path.
   */
  at(relative: string): string {
    return join(this.path, relative)
  }

  /**
   * Write a file and the directories above it.
   * @param relative - path below the folder.
   * @param content - the new content.
   */
  write(relative: string, content: string): void {
    const target = this.at(relative)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, content)
  }

  /**
   * Remove a file or a tree.
   * @param relative - path below the folder.
   */
  remove(relative: string): void {
    rmSync(this.at(relative), { recursive: true, force: true })
  }

  /**
   * Rename a file or a directory.
   * @param from - old path below the folder.
   * @param to - new path below the folder.
   */
  rename(from: string, to: string): void {
    renameSync(this.at(from), this.at(to))
  }

  /**
   * Make a symbolic link.
   * @param relative - where the link lies.
   * @param target - what it says, relative to its own directory.
   */
  link(relative: string, target: string): void {
    mkdirSync(dirname(this.at(relative)), { recursive: true })
    symlinkSync(target, this.at(relative))
  }

  /**
   * Start over with these files.
   * @param files - the folder's whole content.
   */
  reset(files: Files): void {
    rmSync(this.path, { recursive: true, force: true })
    mkdirSync(this.path, { recursive: true })
    for (const [relative, content] of Object.entries(files)) {
      if (content === null) mkdirSync(this.at(relative), { recursive: true })
      else this.write(relative, content)
    }
  }
}

/** The directories of one script. */
export interface World {
  project: Folder
  /** `$DSH_HOME`. */
  home: Folder
  /** `$HOME` of the child: nothing of the person who runs the demo may leak in. */
  osHome: Folder
}

/**
 * Lay out the directories.
 * @param base - the one directory that all scripts share.
 * @param usesDefaultHome - put the harness's home where it is without `DSH_HOME`.
 * @returns the folders, not created yet.
 */
export function createWorld(base: string, usesDefaultHome: boolean): World {
  const osHome = new Folder(join(base, 'os-home'))
  return {
    project: new Folder(join(base, 'project')),
    home: new Folder(usesDefaultHome ? osHome.at('.dsh') : join(base, 'dsh-home')),
    osHome,
  }
}
