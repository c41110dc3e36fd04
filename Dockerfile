# Built from the image's folder of the bundle (build/bundle/arm64.image), which holds everything but the interpreter.
FROM python:3.13-slim-bookworm

# The root filesystem is read-only on Fargate and /tmp a volume: the mount takes over this folder's permissions
# ("Fargate task ephemeral storage for Amazon ECS").
VOLUME ["/tmp"]

ENV PYTHONUNBUFFERED=1
WORKDIR /app
COPY . .

RUN useradd --system --uid 10001 --no-create-home --home-dir /app job
USER job

# Exec form, so that the job gets SIGTERM itself. Task definitions bring a command of their own; this one is for people:
# `docker run -e SHIFTLOCK_ROLE=clock IMAGE` is the clock, `docker run IMAGE python -m handlers.runtime billing-run` a job.
ENTRYPOINT []
CMD ["python", "-m", "handlers.runtime"]
