"""Runs a command on a terminal of its own: what comes on stdin is typed there, what it shows goes to stdout. When the
command has ended, a last line says how, and whether the terminal is as it was."""

import os
import select
import subprocess
import sys
import termios

master, slave = os.openpty()
if "PTY_COLUMNS" in os.environ:
    termios.tcsetwinsize(slave, (24, int(os.environ["PTY_COLUMNS"])))
before = termios.tcgetattr(slave)


def take_terminal():
    os.setsid()
    os.ttyname(0)
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


child = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)
sources = [master, 0]
while child.poll() is None or select.select([master], [], [], 0.1)[0]:
    for source in select.select(sources, [], [], 0.05)[0]:
        data = os.read(source, 65536)
        if source == master:
            os.write(1, data)
        elif data:
            os.write(master, data)
        else:
            sources.remove(0)
restored = "restored" if termios.tcgetattr(slave) == before else "changed"
os.write(1, f"\n[ended with {child.returncode}, terminal {restored}]\n".encode())
